//! `leaky_relu`: a positive part that leaks.

use crate::prelude::*;
use crate::{gt, where_};

/// `x` where it is positive, else `slope * x`. Its derivative at zero is the slope.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = leaky_relu(&Var::scalar(-2.0f64), 0.25)?;
/// assert_eq!(y.item::<f64>()?, -0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn leaky_relu(x: &Var, slope: f64) -> Result<Var> {
    bind1(LEAKY_RELU.with(&[slope]), &[x])
}

/// The op behind [`leaky_relu`].
pub static LEAKY_RELU: Parametric = Parametric::unary(
    "leaky_relu",
    &["slope"],
    |x, p| x.gt(0.0).select(x, x * p[0]),
    Keeps::INPUTS,
    |p| {
        let slope = p.op::<ParametricOp>()?.number(0);
        let positive = gt(&p.x(0), &p.x(0).literal(0.0))?;
        grads![p => where_(&positive, &p.dy(), &(p.dy() * slope))]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "leaky_relu",
    |attrs| LEAKY_RELU.build(attrs),
    || {
        let reference: fn(&[f64]) -> f64 = |x| if x[0] > 0.0 { x[0] } else { 0.25 * x[0] };
        vec![
            Sample::new(LEAKY_RELU.with(&[0.25]), [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(LEAKY_RELU.with(&[0.25]), [f64s(&[-0.3], &[])]).gives_scalar(reference),
        ]
    },
);
