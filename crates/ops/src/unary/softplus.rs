//! `softplus`: a smooth positive part.

use super::sigmoid;
use crate::prelude::*;
use crate::{gt, where_};

/// `log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` is above the threshold.
/// Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = softplus(&Var::scalar(30.0f64), 1.0, 20.0)?;
/// assert_eq!(y.item::<f64>()?, 30.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn softplus(x: &Var, beta: f64, threshold: f64) -> Result<Var> {
    bind1(SOFTPLUS.with(&[beta, threshold]), &[x])
}

/// The op behind [`softplus`].
pub static SOFTPLUS: Parametric = Parametric::unary(
    "softplus",
    &["beta", "threshold"],
    |x, p| (x * p[0]).gt(p[1]).select(x, x.softplus(p[0])),
    Keeps::INPUTS,
    |p| {
        let op = p.op::<ParametricOp>()?;
        let (beta, threshold) = (op.number(0), op.number(1));
        let scaled = p.x(0) * beta;
        let straight = gt(&scaled, &scaled.literal(threshold))?;
        grads![p => where_(&straight, &p.dy(), &(p.dy() * sigmoid(&scaled)?))]
    },
)
.domain(Domain::Float)
.checked(|numbers, _| match numbers[0] == 0.0 {
    true => Err(Error::argument("`beta` is a divisor and must not be zero")),
    false => Ok(()),
});

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "softplus",
    |attrs| SOFTPLUS.build(attrs),
    || {
        let plain: fn(&[f64]) -> f64 = |x| x[0].exp().ln_1p();
        let steep: fn(&[f64]) -> f64 =
            |x| if 2.0 * x[0] > 1.0 { x[0] } else { (2.0 * x[0]).exp().ln_1p() / 2.0 };
        vec![
            Sample::new(SOFTPLUS.with(&[1.0, 20.0]), [ramp(&[2, 3])]).gives_scalar(plain),
            Sample::new(SOFTPLUS.with(&[2.0, 1.0]), [ramp(&[2, 3])]).gives_scalar(steep),
            Sample::new(SOFTPLUS.with(&[1.0, 20.0]), [f64s(&[0.3], &[])]).gives_scalar(plain),
            Sample::new(SOFTPLUS.with(&[0.0, 1.0]), [ramp(&[2])]).refused("must not be zero"),
        ]
    },
);
