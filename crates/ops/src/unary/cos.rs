//! `cos`: the cosine.

use super::sin;
use crate::prelude::*;

/// The cosine. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = cos(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cos(x: &Var) -> Result<Var> {
    bind1(&COS, &[x])
}

/// The op behind [`cos`].
pub static COS: Elementwise = Elementwise::unary(
    "cos",
    |x| x.cos(),
    Keeps::INPUTS,
    |p| grads![p => -(p.dy() * sin(&p.x(0))?)],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "cos",
    || (&COS).into(),
    || {
        vec![
            Sample::new(&COS, [ramp(&[2, 3])]).gives_scalar(|x| x[0].cos()),
            Sample::new(&COS, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].cos()),
        ]
    },
);
