//! `hard_tanh`: a hyperbolic tangent of straight lines.

use super::kink::pass_where;
use crate::prelude::*;
use crate::{gt, logical_and, lt};

/// `x`, but at least `low` and at most `high`; outside and at the bounds its derivative is zero,
/// unlike that of [`clip`](crate::clip). Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hard_tanh(&Var::scalar(-2.0f64), -1.0, 1.0)?;
/// assert_eq!(y.item::<f64>()?, -1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hard_tanh(x: &Var, low: f64, high: f64) -> Result<Var> {
    bind1(HARD_TANH.with(&[low, high]), &[x])
}

/// The op behind [`hard_tanh`].
pub static HARD_TANH: Parametric = Parametric::unary(
    "hard_tanh",
    &["low", "high"],
    |x, p| x.max(p[0]).min(p[1]),
    Keeps::INPUTS,
    |p| {
        let op = p.op::<ParametricOp>()?;
        let x = p.x(0);
        let above = gt(&x, &x.literal(op.number(0)))?;
        let inside = logical_and(&above, &lt(&x, &x.literal(op.number(1)))?)?;
        grads![p => pass_where(&inside, &p.dy())]
    },
)
.domain(Domain::Float)
.checked(|numbers, _| match numbers[0] <= numbers[1] {
    true => Ok(()),
    false => Err(Error::argument(format!(
        "the lower bound {} is above the upper bound {}",
        numbers[0], numbers[1]
    ))),
});

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "hard_tanh",
    |attrs| HARD_TANH.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].clamp(-1.0, 1.0);
        vec![
            Sample::new(HARD_TANH.with(&[-1.0, 1.0]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(HARD_TANH.with(&[-1.0, 1.0]), [f64s(&[0.3], &[])]).gives_scalar(reference),
            Sample::new(HARD_TANH.with(&[1.0, -1.0]), [ramp(&[2])]).refused("is above the upper"),
        ]
    },
);
