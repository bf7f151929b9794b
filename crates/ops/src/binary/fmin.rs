//! `fmin`: the smaller of two, NaN apart.

use super::{eq, le, logical_or};
use crate::prelude::*;
use crate::unary::kink::share;
use crate::{isnan, logical_not};

/// The smaller of two elements, broadcast; if one is NaN, the other. Where they are equal, the
/// first gets the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = fmin(&Var::scalar(f64::NAN), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fmin(a: &Var, b: &Var) -> Result<Var> {
    bind1(&FMIN, &[a, b])
}

/// The op behind [`fmin`].
pub static FMIN: Elementwise = Elementwise::binary(
    "fmin",
    |a, b| a.fmin(b),
    Keeps::INPUTS,
    |p| {
        let (a, b) = (p.x(0), p.x(1));
        let tie = eq(&a, &b)?;
        let part = |own: &Var, other: &Var| {
            let chosen = logical_or(&le(own, other)?, &isnan(other)?)?;
            share(&logical_not(&chosen)?, &tie, &p.dy())
        };
        grads![p => part(&a, &b), part(&b, &a)]
    },
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "fmin",
    || (&FMIN).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].min(x[1]);
        vec![
            Sample::new(&FMIN, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&FMIN, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&FMIN, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
