//! `remainder`: what division leaves, with the divisor's sign.

use super::floor_div;
use crate::prelude::*;

/// `a - b * floor(a / b)`, broadcast: the remainder has the sign of `b`, as `%` in Python. An
/// integer divided by zero leaves zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = remainder(&Var::scalar(-7i64), &Var::scalar(3i64))?;
/// assert_eq!(y.item::<i64>()?, 2);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn remainder(a: &Var, b: &Var) -> Result<Var> {
    bind1(&REMAINDER, &[a, b])
}

/// The op behind [`remainder`].
pub static REMAINDER: Elementwise = Elementwise::binary(
    "remainder",
    |a, b| a.rem(b),
    Keeps::INPUTS,
    |p| grads![p => p.dy(), -(p.dy() * floor_div(&p.x(0), &p.x(1))?)],
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "remainder",
    || (&REMAINDER).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0] - x[1] * (x[0] / x[1]).floor();
        vec![
            Sample::new(&REMAINDER, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&REMAINDER, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&REMAINDER, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
