//! `pow`: powers.

use super::{eq, where_};
use crate::log;
use crate::prelude::*;

/// `a` to the power of `b`, broadcast. Integers become `f32`.
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
        let (a, b) = (p.x(0), p.x(1));
        // At zero the exponent has no influence, where the logarithm would give 0 * -inf.
        let zero = cast(&Var::scalar(0.0f64), a.dtype())?;
        grads![p =>
            p.dy() * &b * pow(&a, &(&b - 1.0))?,
            p.dy() * p.y(0) * log(&where_(&eq(&a, &zero)?, &(&zero + 1.0), &a)?)?,
        ]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "pow",
    || (&POW).into(),
    || {
        let a = f64s(&[0.5, 1.5, 2.0, 3.0, 0.25, 1.0], &[2, 3]);
        let b = f64s(&[2.0, -0.5, 1.5], &[3]);
        vec![
            Sample::new(&POW, [a.clone(), b]).gives_scalar(|x| x[0].powf(x[1])),
            Sample::new(&POW, [a, f64s(&[3.0], &[])]).gives_scalar(|x| x[0].powf(x[1])),
        ]
    },
);
