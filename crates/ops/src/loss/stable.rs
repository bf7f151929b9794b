//! Expressions that keep their digits.

use crate::prelude::*;
use crate::{gt, log, maximum, where_};

/// A number in the element type of `x`.
#[track_caller]
pub(super) fn number(value: f64, x: &Var) -> Result<Var> {
    fill(value, &Type::scalar(x.dtype()))
}

/// The positive part.
#[track_caller]
pub(super) fn positive(x: &Var) -> Result<Var> {
    maximum(x, &number(0.0, x)?)
}

/// `log(x)`, but `least` where that would be less; there no gradient passes.
#[track_caller]
pub(super) fn log_at_least(x: &Var, least: f64) -> Result<Var> {
    let counts = gt(x, &number(0.0, x)?)?;
    let log = log(&where_(&counts, x, &number(1.0, x)?)?)?;
    let least = number(least, x)?;
    maximum(&where_(&counts, &log, &least)?, &least)
}
