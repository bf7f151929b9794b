//! `sinh`: the hyperbolic sine.

use super::cosh;
use crate::prelude::*;

/// The hyperbolic sine. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sinh(&Var::scalar(0.0f64))?;
/// assert_eq!(y.item::<f64>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sinh(x: &Var) -> Result<Var> {
    bind1(&SINH, &[x])
}

/// The op behind [`sinh`].
pub static SINH: Elementwise = Elementwise::unary(
    "sinh",
    |x| x.sinh(),
    Keeps::INPUTS,
    |p| grads![p => p.dy() * cosh(&p.x(0))?],
)
.domain(Domain::Float)
.analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "sinh",
    || (&SINH).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0].sinh();
        vec![
            Sample::new(&SINH, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SINH, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
