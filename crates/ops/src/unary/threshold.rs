//! `threshold`: a replacement below a threshold.

use super::kink::pass_where;
use crate::gt;
use crate::prelude::*;

/// `x` where it is above the threshold, else `value`. Its derivative at the threshold is zero.
/// Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = threshold(&Var::scalar(0.5f64), 1.0, -3.0)?;
/// assert_eq!(y.item::<f64>()?, -3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn threshold(x: &Var, threshold: f64, value: f64) -> Result<Var> {
    bind1(THRESHOLD.with(&[threshold, value]), &[x])
}

/// The op behind [`threshold`].
pub static THRESHOLD: Parametric = Parametric::unary(
    "threshold",
    &["threshold", "value"],
    |x, p| x.le(p[0]).select(p[1], x),
    Keeps::INPUTS,
    |p| {
        let threshold = p.op::<ParametricOp>()?.number(0);
        let above = gt(&p.x(0), &p.x(0).literal(threshold))?;
        grads![p => pass_where(&above, &p.dy())]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "threshold",
    |attrs| THRESHOLD.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| if x[0] > 0.5 { x[0] } else { -3.0 };
        vec![
            Sample::new(THRESHOLD.with(&[0.5, -3.0]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(THRESHOLD.with(&[0.5, -3.0]), [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
