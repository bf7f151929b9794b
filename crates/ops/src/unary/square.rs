//! `square`: the square.

use crate::prelude::*;

/// `x * x`. Integers wrap.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = square(&Var::scalar(-3.0f64))?;
/// assert_eq!(y.item::<f64>()?, 9.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn square(x: &Var) -> Result<Var> {
    bind1(&SQUARE, &[x])
}

/// The op behind [`square`].
pub static SQUARE: Elementwise =
    Elementwise::unary("square", |x| x * x, Keeps::INPUTS, |p| grads![p => p.dy() * p.x(0) * 2.0])
        .analytic();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "square",
    || (&SQUARE).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| x[0] * x[0];
        vec![
            Sample::new(&SQUARE, [ramp(&[2, 3])]).gives_scalar(reference),
            Sample::new(&SQUARE, [f64s(&[0.3], &[])]).gives_scalar(reference),
        ]
    },
);
