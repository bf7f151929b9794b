//! `soft_shrink`: numbers moved towards zero.

use super::abs;
use super::kink::pass_where;
use crate::gt;
use crate::prelude::*;

/// `x` moved by `width` towards zero, and zero from `-width` to `width`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = soft_shrink(&Var::scalar(2.0f64), 0.5)?;
/// assert_eq!(y.item::<f64>()?, 1.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn soft_shrink(x: &Var, width: f64) -> Result<Var> {
    bind1(SOFT_SHRINK.with(&[width]), &[x])
}

/// The op behind [`soft_shrink`].
pub static SOFT_SHRINK: Parametric = Parametric::unary(
    "soft_shrink",
    &["width"],
    |x, p| {
        let inside = x.is_nan().select(x, 0.0);
        x.gt(p[0]).select(x - p[0], x.lt(-p[0]).select(x + p[0], inside))
    },
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
    "soft_shrink",
    |attrs| SOFT_SHRINK.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].signum() * (x[0].abs() - 0.5).max(0.0);
        vec![
            Sample::new(SOFT_SHRINK.with(&[0.5]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(SOFT_SHRINK.with(&[0.5]), [f64s(&[0.3], &[])]).gives_scalar(reference),
            Sample::new(SOFT_SHRINK.with(&[-0.5]), [ramp(&[2])]).refused("is negative"),
        ]
    },
);
