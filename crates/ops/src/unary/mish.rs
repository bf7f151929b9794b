//! `mish`: a smooth activation.

use super::{sigmoid, softplus, tanh};
use crate::prelude::*;

/// `x * tanh(softplus(x))`. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = mish(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn mish(x: &Var) -> Result<Var> {
    bind1(&MISH, &[x])
}

/// The op behind [`mish`].
pub static MISH: Elementwise = Elementwise::unary(
    "mish",
    |x| x.mish(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        let gate = tanh(&softplus(&x, 1.0, f64::INFINITY)?)?;
        grads![p => p.dy() * (&gate + &x * sigmoid(&x)? * (1.0 - &gate * &gate))]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "mish",
    || (&MISH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] * x[0].exp().ln_1p().tanh();
        vec![
            Sample::new(&MISH, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&MISH, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
