//! `pow`: powers.

use super::{eq, ge, logical_and, where_};
use crate::log;
use crate::prelude::*;

/// `a` to the power of `b`, broadcast. Integers stay integers and wrap; a negative power of an
/// integer is one divided by the positive power, rounded towards zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = pow(&Var::scalar(3.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 9.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pow(a: &Var, b: &Var) -> Result<Var> {
    bind1(&POW, &[a, b])
}

/// The op behind [`pow`].
pub static POW: Elementwise = Elementwise::binary(
    "pow",
    |a, b| a.pow(b),
    Keeps::ALL,
    |p| {
        let (a, b) = (cast(&p.x(0), p.dy().dtype())?, cast(&p.x(1), p.dy().dtype())?);
        let zero = a.literal(0.0);
        // Where the base has no influence, and where the exponent has none, its derivative is zero,
        // which the formulas would give as zero times infinity.
        let base = |slope: Var| where_(&eq(&b, &zero)?, &zero, &slope);
        let exponent = || {
            let flat = match b.dtype().is_complex() {
                true => eq(&a, &zero)?,
                false => logical_and(&eq(&a, &zero)?, &ge(&b, &zero)?)?,
            };
            (p.dy() * p.y(0) * log(&where_(&flat, &a.literal(1.0), &a)?)?).check()
        };
        grads![p => base(p.dy() * &b * pow(&a, &(&b - 1.0))?), exponent()]
    },
)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "pow",
    || (&POW).into(),
    || {
        let a = f64s(&[0.5, 1.5, 2.0, 3.0, 0.25, 1.0], &[2, 3]);
        let b = f64s(&[2.0, -0.5, 1.5], &[3]);
        let (whole, powers) = (i64s(&[2, -3, 0, 7, -1], &[5]), i64s(&[10, 3, 0, -1, -3], &[5]));
        vec![
            Sample::new(&POW, [a.clone(), b]).gives_scalar(|x| x[0].powf(x[1])),
            Sample::new(&POW, [a, f64s(&[3.0], &[])]).gives_scalar(|x| x[0].powf(x[1])),
            Sample::new(&POW, [whole, powers]).gives([i64s(&[1024, -27, 1, 0, -1], &[5])]),
        ]
    },
);
