//! `maximum`: the greater of two.

use super::{eq, lt};
use crate::prelude::*;
use crate::unary::kink::share;

/// The greater of two elements, broadcast; NaN if either is. Where they are equal, each gets half
/// of the gradient.
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
        let (a, b) = (p.x(0), p.x(1));
        let tie = eq(&a, &b)?;
        grads![p => share(&lt(&a, &b)?, &tie, &p.dy()), share(&lt(&b, &a)?, &tie, &p.dy())]
    },
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "maximum",
    || (&MAXIMUM).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].max(x[1]);
        vec![
            Sample::new(&MAXIMUM, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&MAXIMUM, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&MAXIMUM, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
