//! `tanh`: the hyperbolic tangent.

use crate::prelude::*;

/// The hyperbolic tangent. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = tanh(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tanh(x: &Var) -> Result<Var> {
    bind1(&TANH, &[x])
}

/// The op behind [`tanh`].
pub static TANH: Elementwise = Elementwise::unary(
    "tanh",
    |x| x.tanh(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * (1.0 - p.y(0) * p.y(0))],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "tanh",
    || (&TANH).into(),
    || {
        vec![
            Sample::new(&TANH, [ramp(&[2, 3])]).gives_scalar(|x| x[0].tanh()),
            Sample::new(&TANH, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].tanh()),
        ]
    },
);
