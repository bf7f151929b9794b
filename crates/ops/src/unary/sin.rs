//! `sin`: the sine.

use super::cos;
use crate::prelude::*;

/// The sine. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sin(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sin(x: &Var) -> Result<Var> {
    bind1(&SIN, &[x])
}

/// The op behind [`sin`].
pub static SIN: Elementwise =
    Elementwise::unary("sin", |x| x.sin(), Keeps::INPUTS, |p| grads![p => p.dy() * cos(&p.x(0))?])
        .domain(Domain::Float)
        .analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sin",
    || (&SIN).into(),
    || {
        vec![
            Sample::new(&SIN, [ramp(&[2, 3])]).gives_scalar(|x| x[0].sin()),
            Sample::new(&SIN, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].sin()),
        ]
    },
);
