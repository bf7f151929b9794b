//! `acosh`: the inverse hyperbolic cosine.

use super::rsqrt;
use crate::prelude::*;

/// The inverse hyperbolic cosine; NaN below 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = acosh(&Var::scalar(1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn acosh(x: &Var) -> Result<Var> {
    bind1(&ACOSH, &[x])
}

/// The op behind [`acosh`].
pub static ACOSH: Elementwise = Elementwise::unary(
    "acosh",
    |x| x.acosh(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        if x.dtype().is_complex() {
            // The product of the roots has another cut than the root of the product.
            return grads![p => p.dy() * rsqrt(&(&x - 1.0))? * rsqrt(&(&x + 1.0))?];
        }
        grads![p => p.dy() * rsqrt(&((&x - 1.0) * (&x + 1.0)))?]
    },
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "acosh",
    || (&ACOSH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].acosh();
        vec![
            Sample::new(&ACOSH, [f64s(&[1.25, 1.5, 2.0, 2.5, 7.0, 30.0], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&ACOSH, [f64s(&[1.5], &[])]).gives_scalar(reference),
        ]
    },
);
