//! `abs`: the absolute value.

use super::sign;
use crate::prelude::*;

/// The absolute value. Its derivative at zero is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = abs(&Var::scalar(-2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn abs(x: &Var) -> Result<Var> {
    bind1(&ABS, &[x])
}

/// The op behind [`abs`].
pub static ABS: Elementwise =
    Elementwise::unary("abs", |x| x.abs(), Keeps::INPUTS, |p| grads![p => p.dy() * sign(&p.x(0))?])
        .complex()
        .gives_part();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "abs",
    || (&ABS).into(),
    || {
        vec![
            Sample::new(&ABS, [ramp(&[2, 3])]).gives_scalar(|x| x[0].abs()),
            Sample::new(&ABS, [f64s(&[0.3], &[])]).gives_scalar(|x| x[0].abs()),
        ]
    },
);
