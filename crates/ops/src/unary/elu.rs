//! `elu`: an exponential linear unit.

use super::exp;
use crate::prelude::*;
use crate::{gt, where_};

/// `x` where it is positive, else `alpha * (exp(x) - 1)`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = elu(&Var::scalar(f64::NEG_INFINITY), 1.5)?;
/// assert_eq!(y.item::<f64>()?, -1.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn elu(x: &Var, alpha: f64) -> Result<Var> {
    bind1(ELU.with(&[alpha, 1.0, 1.0]), &[x])
}

/// The op behind [`elu`], [`celu`](crate::celu) and [`selu`](crate::selu): `positive * x` where
/// `x` is positive, else `negative * (exp(x / width) - 1)`.
pub static ELU: Parametric = Parametric::unary(
    "elu",
    &["negative", "positive", "width"],
    |x, p| x.gt(0.0).select(x * p[1], (x / p[2]).expm1() * p[0]),
    Keeps::INPUTS,
    |p| {
        let op = p.op::<ParametricOp>()?;
        let (negative, positive, width) = (op.number(0), op.number(1), op.number(2));
        let above = gt(&p.x(0), &p.x(0).literal(0.0))?;
        // The exponential of a large number, though not chosen, would spoil higher gradients.
        let below_zero = where_(&above, &p.x(0).literal(0.0), &p.x(0))?;
        let slope = exp(&(below_zero / width))? * (negative / width);
        grads![p => p.dy() * where_(&above, &slope.literal(positive), &slope)?]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "elu",
    |attrs| ELU.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 =
            |x| if x[0] > 0.0 { 1.25 * x[0] } else { 1.5 * (x[0] / 2.0).exp_m1() };
        let op = || ELU.with(&[1.5, 1.25, 2.0]);
        vec![
            Sample::new(op(), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(op(), [f64s(&[-0.3], &[])]).gives_scalar(reference),
        ]
    },
);
