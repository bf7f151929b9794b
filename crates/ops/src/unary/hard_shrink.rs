//! `hard_shrink`: small numbers to zero.

use super::abs;
use super::kink::pass_where;
use crate::gt;
use crate::prelude::*;

/// `x`, but zero from `-width` to `width`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hard_shrink(&Var::scalar(2.0f64), 0.5)?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hard_shrink(x: &Var, width: f64) -> Result<Var> {
    bind1(HARD_SHRINK.with(&[width]), &[x])
}

/// The op behind [`hard_shrink`].
pub static HARD_SHRINK: Parametric = Parametric::unary(
    "hard_shrink",
    &["width"],
    |x, p| x.abs().le(p[0]).select(0.0, x),
    Keeps::INPUTS,
    |p| {
        let width = p.op::<ParametricOp>()?.number(0);
        let outside = gt(&abs(&p.x(0))?, &p.x(0).literal(width))?;
        grads![p => pass_where(&outside, &p.dy())]
    },
)
.domain(Domain::Float)
.checked(|numbers, _| match numbers[0] >= 0.0 {
    true => Ok(()),
    false => Err(Error::argument(format!("the width {} is negative", numbers[0]))),
});

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "hard_shrink",
    |attrs| HARD_SHRINK.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| if x[0].abs() > 0.5 { x[0] } else { 0.0 };
        vec![
            Sample::new(HARD_SHRINK.with(&[0.5]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(HARD_SHRINK.with(&[0.5]), [f64s(&[0.3], &[])]).gives_scalar(reference),
            Sample::new(HARD_SHRINK.with(&[-0.5]), [ramp(&[2])]).refused("is negative"),
        ]
    },
);
