//! `softsign`: a smooth sign.

use super::abs;
use crate::prelude::*;

/// `x / (1 + |x|)`: a smooth sign, between -1 and 1. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = softsign(&Var::scalar(-1.0f64))?;
/// assert_eq!(y.item::<f64>()?, -0.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn softsign(x: &Var) -> Result<Var> {
    bind1(&SOFTSIGN, &[x])
}

/// The op behind [`softsign`].
pub static SOFTSIGN: Elementwise = Elementwise::unary(
    "softsign",
    |x| x / (1.0 + x.abs()),
    Keeps::INPUTS,
    |p| {
        let slope = 1.0 + abs(&p.x(0))?;
        grads![p => p.dy() / (&slope * &slope)]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "softsign",
    || (&SOFTSIGN).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] / (1.0 + x[0].abs());
        vec![
            Sample::new(&SOFTSIGN, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SOFTSIGN, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
