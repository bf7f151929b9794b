//! `asin`: the inverse sine.

use super::rsqrt;
use crate::prelude::*;

/// The inverse sine, between -pi/2 and pi/2; NaN outside -1 to 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = asin(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn asin(x: &Var) -> Result<Var> {
    bind1(&ASIN, &[x])
}

/// The op behind [`asin`].
pub static ASIN: Elementwise = Elementwise::unary(
    "asin",
    |x| x.asin(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        grads![p => p.dy() * rsqrt(&((1.0 - &x) * (1.0 + &x)))?]
    },
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "asin",
    || (&ASIN).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].asin();
        vec![
            Sample::new(&ASIN, [f64s(&[-0.9, -0.5, 0.01, 0.3, 0.75, 0.95], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&ASIN, [f64s(&[-0.5], &[])]).gives_scalar(reference),
        ]
    },
);
