//! `l1_loss`: the mean absolute error.

use super::reduction::{Reduction, alike_numbers, reduced};
use crate::abs;
use crate::prelude::*;

/// The absolute differences of `input` and `target`, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1.0, 2.0], &[2])?, Var::of(&[1.0, 4.0], &[2])?);
/// assert_eq!(l1_loss(&x, &y, Reduction::Mean)?.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn l1_loss(input: &Var, target: &Var, reduction: Reduction) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike_numbers("l1_loss", &[input, target])?;
    reduced(&abs(&sub(input, target)?)?, reduction)
}
