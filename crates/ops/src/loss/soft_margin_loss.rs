//! `soft_margin_loss`: logits against signs.

use super::reduction::{Reduction, alike, reduced};
use crate::log_sigmoid;
use crate::prelude::*;

/// `log(1 + exp(-target * input))` for targets 1 and -1, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[-1000.0], &[1])?, Var::of(&[1.0], &[1])?);
/// assert_eq!(soft_margin_loss(&x, &y, Reduction::Mean)?.item::<f64>()?, 1000.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn soft_margin_loss(input: &Var, target: &Var, reduction: Reduction) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("soft_margin_loss", &[input, target])?;
    reduced(&neg(&log_sigmoid(&mul(input, target)?)?)?, reduction)
}
