//! `fmax`: the greater of two, NaN apart.

use super::{eq, ge, logical_or};
use crate::prelude::*;
use crate::unary::kink::share;
use crate::{isnan, logical_not};

/// The greater of two elements, broadcast; if one is NaN, the other. Where they are equal, the
/// first gets the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = fmax(&Var::scalar(f64::NAN), &Var::scalar(2.0f64))?;
/// assert_eq!(y.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fmax(a: &Var, b: &Var) -> Result<Var> {
    bind1(&FMAX, &[a, b])
}

/// The op behind [`fmax`].
pub static FMAX: Elementwise = Elementwise::binary(
    "fmax",
    |a, b| a.fmax(b),
    Keeps::INPUTS,
    |p| {
        let (a, b) = (p.x(0), p.x(1));
        let tie = eq(&a, &b)?;
        let part = |own: &Var, other: &Var| {
            let chosen = logical_or(&ge(own, other)?, &isnan(other)?)?;
            share(&logical_not(&chosen)?, &tie, &p.dy())
        };
        grads![p => part(&a, &b), part(&b, &a)]
    },
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "fmax",
    || (&FMAX).into(),
    || {
        let (a, b) = (ramp(&[2, 3]), f64s(&[0.5, -1.0, 1.0], &[3]));
        let reference: fn(&[f64]) -> f64 = |x| x[0].max(x[1]);
        vec![
            Sample::new(&FMAX, [a.clone(), b]).gives_scalar(reference),
            Sample::new(&FMAX, [a, f64s(&[0.75], &[])]).gives_scalar(reference),
            Sample::new(&FMAX, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);
