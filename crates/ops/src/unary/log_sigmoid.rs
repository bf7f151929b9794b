//! `log_sigmoid`: the logarithm of the logistic function.

use super::sigmoid;
use crate::prelude::*;

/// `log(sigmoid(x))`, accurate also where the logistic function is 0 or 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = log_sigmoid(&Var::scalar(f64::NEG_INFINITY))?;
/// assert_eq!(y.item::<f64>()?, f64::NEG_INFINITY);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log_sigmoid(x: &Var) -> Result<Var> {
    bind1(&LOG_SIGMOID, &[x])
}

/// The op behind [`log_sigmoid`].
pub static LOG_SIGMOID: Elementwise = Elementwise::unary(
    "log_sigmoid",
    |x| 0.0 - (-x).softplus(1.0),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * sigmoid(&-p.x(0))?],
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "log_sigmoid",
    || (&LOG_SIGMOID).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| -(-x[0]).exp().ln_1p();
        vec![
            Sample::new(&LOG_SIGMOID, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&LOG_SIGMOID, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
