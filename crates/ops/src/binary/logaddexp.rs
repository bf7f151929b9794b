//! `logaddexp`: the logarithm of a sum of exponentials.

use crate::prelude::*;
use crate::sigmoid;

/// `log(exp(a) + exp(b))`, broadcast, without overflow. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = logaddexp(&Var::scalar(f64::NEG_INFINITY), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logaddexp(a: &Var, b: &Var) -> Result<Var> {
    bind1(&LOGADDEXP, &[a, b])
}

/// The op behind [`logaddexp`].
pub static LOGADDEXP: Elementwise = Elementwise::binary(
    "logaddexp",
    |a, b| a.log_add_exp(b),
    Keeps::INPUTS,
    |p| {
        let difference = p.x(0) - p.x(1);
        grads![p => p.dy() * sigmoid(&difference)?, p.dy() * sigmoid(&-&difference)?]
    },
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "logaddexp",
    || (&LOGADDEXP).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| (x[0].exp() + x[1].exp()).ln();
        vec![
            Sample::new(&LOGADDEXP, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&LOGADDEXP, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&LOGADDEXP, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
