//! `maximum`: the greater of two.

use super::{eq, gt};
use crate::prelude::*;

/// The greater of two elements, broadcast; NaN if either is. Where they are equal, each gets half of the
/// gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = maximum(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn maximum(a: &Var, b: &Var) -> Result<Var> {
    bind1(&MAXIMUM, &[a, b])
}

/// The op behind [`maximum`].
pub static MAXIMUM: Elementwise = Elementwise::binary(
    "maximum",
    |a, b| a.max(b),
    Keeps::INPUTS,
    |p| {
        let share = |own: &Var, other: &Var| -> Result<Var> {
            let wins = cast(&gt(own, other)?, p.dy().dtype())?;
            let ties = cast(&eq(own, other)?, p.dy().dtype())?;
            (p.dy() * (wins + ties * 0.5)).check()
        };
        grads![p => share(&p.x(0), &p.x(1)), share(&p.x(1), &p.x(0))]
    },
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "maximum",
    || (&MAXIMUM).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        vec![
            Sample::new(&MAXIMUM, [a.clone(), b]).gives_scalar(|x| x[0].max(x[1])),
            Sample::new(&MAXIMUM, [a, ramp(&[4])]).refused("do not broadcast"),
        ]
    },
);
