//! `acos`: the inverse cosine.

use super::rsqrt;
use crate::prelude::*;

/// The inverse cosine, between 0 and pi; NaN outside -1 to 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = acos(&Var::scalar(1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn acos(x: &Var) -> Result<Var> {
    bind1(&ACOS, &[x])
}

/// The op behind [`acos`].
pub static ACOS: Elementwise = Elementwise::unary(
    "acos",
    |x| x.acos(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        grads![p => -(p.dy() * rsqrt(&((1.0 - &x) * (1.0 + &x)))?)]
    },
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "acos",
    || (&ACOS).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].acos();
        vec![
            Sample::new(&ACOS, [f64s(&[-0.9, -0.5, 0.01, 0.3, 0.75, 0.95], &[2, 3])])
                .gives_scalar(reference),
            Sample::new(&ACOS, [f64s(&[-0.5], &[])]).gives_scalar(reference),
        ]
    },
);
