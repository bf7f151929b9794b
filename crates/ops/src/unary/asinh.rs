//! `asinh`: the inverse hyperbolic sine.

use super::{rsqrt, square};
use crate::prelude::*;

/// The inverse hyperbolic sine. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = asinh(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn asinh(x: &Var) -> Result<Var> {
    bind1(&ASINH, &[x])
}

/// The op behind [`asinh`].
pub static ASINH: Elementwise = Elementwise::unary(
    "asinh",
    |x| x.asinh(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * rsqrt(&(square(&p.x(0))? + 1.0))?],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "asinh",
    || (&ASINH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].asinh();
        vec![
            Sample::new(&ASINH, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&ASINH, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
