//! `tanh_shrink`: what the hyperbolic tangent takes away.

use super::{square, tanh};
use crate::prelude::*;

/// `x - tanh(x)`, accurate near zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = tanh_shrink(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tanh_shrink(x: &Var) -> Result<Var> {
    bind1(&TANH_SHRINK, &[x])
}

/// The op behind [`tanh_shrink`].
pub static TANH_SHRINK: Elementwise = Elementwise::unary(
    "tanh_shrink",
    |x| x.tanh_shrink(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * square(&tanh(&p.x(0))?)?],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "tanh_shrink",
    || (&TANH_SHRINK).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] - x[0].tanh();
        vec![
            Sample::new(&TANH_SHRINK, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&TANH_SHRINK, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
