//! `exp`: the natural exponential.

use crate::prelude::*;

/// The natural exponential. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = exp(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn exp(x: &Var) -> Result<Var> {
    bind1(&EXP, &[x])
}

/// The op behind [`exp`].
pub static EXP: Elementwise =
    Elementwise::unary("exp", |x| x.exp(), Keeps::OUTPUTS, |p| grads![p => p.dy() * p.y(0)])
        .domain(Domain::Float)
        .analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "exp",
    || (&EXP).into(),
    || {
        vec![
            Sample::new(&EXP, [ramp(&[2, 3])]).gives_scalar(|x| x[0].exp()),
            Sample::new(&EXP, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].exp()),
        ]
    },
);
