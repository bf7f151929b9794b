//! `minimum`: the smaller of two.

use super::{eq, gt};
use crate::prelude::*;
use crate::unary::kink::share;

/// The smaller of two elements, broadcast; NaN if either is. Where they are equal, each gets half
/// of the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = minimum(&Var::scalar(1.0f64), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn minimum(a: &Var, b: &Var) -> Result<Var> {
    bind1(&MINIMUM, &[a, b])
}

/// The op behind [`minimum`].
pub static MINIMUM: Elementwise = Elementwise::binary(
    "minimum",
    |a, b| a.min(b),
    Keeps::INPUTS,
    |p| {
        let (a, b) = (p.x(0), p.x(1));
        let tie = eq(&a, &b)?;
        grads![p => share(&gt(&a, &b)?, &tie, &p.dy()), share(&gt(&b, &a)?, &tie, &p.dy())]
    },
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "minimum",
    || (&MINIMUM).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].min(x[1]);
        vec![
            Sample::new(&MINIMUM, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&MINIMUM, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&MINIMUM, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
