//! `mse_loss`: the mean squared error.

use super::reduction::{Reduction, alike, reduced};
use super::square_error_cost;
use crate::prelude::*;

/// The squared differences of `input` and `target`, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1.0, 2.0], &[2])?, Var::of(&[1.0, 4.0], &[2])?);
/// assert_eq!(mse_loss(&x, &y, Reduction::Mean)?.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn mse_loss(input: &Var, target: &Var, reduction: Reduction) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("mse_loss", &[input, target])?;
    reduced(&square_error_cost(input, target)?, reduction)
}
