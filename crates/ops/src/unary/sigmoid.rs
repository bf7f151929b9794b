//! `sigmoid`: the logistic function.

use crate::prelude::*;

/// The logistic function `1 / (1 + exp(-x))`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sigmoid(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sigmoid(x: &Var) -> Result<Var> {
    bind1(&SIGMOID, &[x])
}

/// The op behind [`sigmoid`].
pub static SIGMOID: Elementwise = Elementwise::unary(
    "sigmoid",
    |x| x.sigmoid(),
    Keeps::OUTPUTS,
    |p| grads![p => p.dy() * p.y(0) * (1.0 - p.y(0))],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sigmoid",
    || (&SIGMOID).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| 1.0 / (1.0 + (-x[0]).exp());
        vec![
            Sample::new(&SIGMOID, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SIGMOID, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
