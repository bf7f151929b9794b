//! `clip`: bounds.

use super::kink::pass_where;
use crate::prelude::*;
use crate::{gt, lt};

/// `x`, but at least `low` and at most `high`, where they are given; NaN stays NaN. At the bounds
/// the derivative is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = clip(&Var::scalar(7.0f64), None, Some(5.0))?;
/// assert_eq!(y.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn clip(x: &Var, low: Option<f64>, high: Option<f64>) -> Result<Var> {
    let numbers = [low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY)];
    bind1(CLIP.with(&numbers), &[x])
}

/// The op behind [`clip`].
pub static CLIP: Parametric = Parametric::unary(
    "clip",
    &["low", "high"],
    |x, p| x.max(p[0]).min(p[1]),
    Keeps::INPUTS,
    |p| {
        let op = p.op::<ParametricOp>()?;
        let (x, mut dy) = (p.x(0), p.dy());
        if op.number(0) > f64::NEG_INFINITY {
            dy = pass_where(&gt(&x, &x.literal(op.number(0)))?, &dy)?;
        }
        if op.number(1) < f64::INFINITY {
            dy = pass_where(&lt(&x, &x.literal(op.number(1)))?, &dy)?;
        }
        grads![p => dy]
    },
)
.checked(check_bounds);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "clip",
    |attrs| CLIP.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].clamp(-1.0, 1.5);
        let none = f64::NEG_INFINITY;
        let u8s = Tensor::from_slice(&[0u8, 7, 255], &[3]).expect("a sample's sizes fit");
        vec![
            Sample::new(CLIP.with(&[-1.0, 1.5]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(CLIP.with(&[-1.0, 1.5]), [f64s(&[0.3], &[])]).gives_scalar(reference),
            Sample::new(CLIP.with(&[none, 1.0]), [ramp(&[3])]).gives_scalar(|x| x[0].min(1.0)),
            Sample::new(CLIP.with(&[none, 2.0]), [i64s(&[-5, 0, 9], &[3])])
                .gives([i64s(&[-5, 0, 2], &[3])]),
            Sample::new(CLIP.with(&[0.5, 2.0]), [i64s(&[-5], &[1])])
                .refused("0.5 is not a bound for integers"),
            Sample::new(CLIP.with(&[-1.0, 300.0]), [u8s.clone()]).gives([u8s.clone()]),
            Sample::new(CLIP.with(&[300.0, 400.0]), [u8s.clone()]).refused("does not fit uint8"),
            Sample::new(CLIP.with(&[none, -1.0]), [u8s]).refused("does not fit uint8"),
            Sample::new(CLIP.with(&[f64::NAN, 2.0]), [ramp(&[2])]).refused("NaN is not a bound"),
        ]
    },
);

fn check_bounds(bounds: &[f64], dtype: DType) -> Result<()> {
    if bounds.iter().any(|bound| bound.is_nan()) {
        return Err(Error::argument("NaN is not a bound"));
    }
    if dtype.is_float() {
        return Ok(());
    }
    if let Some(bound) = bounds.iter().find(|bound| bound.is_finite() && bound.fract() != 0.0) {
        return Err(Error::argument(format!("{bound} is not a bound for integers"))
            .remedy("cast the input to a float type first, or round the bound"));
    }
    // A bound that all elements keep bounds nothing; one that none can keep has no result.
    let Some((least, most)) = dtype.range() else { return Ok(()) };
    match (bounds[0] > most as f64, bounds[1] < least as f64) {
        (true, _) => Number::Float(bounds[0]).check(dtype),
        (_, true) => Number::Float(bounds[1]).check(dtype),
        _ => Ok(()),
    }
}
