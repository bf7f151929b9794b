//! `hinge_loss`: a margin between signs.

use super::reduction::{Reduction, alike, reduced};
use crate::prelude::*;
use crate::relu;

/// `max(0, 1 - target * input)` for targets 1 and -1, reduced: the loss of support vector machines.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[3.0, 0.5], &[2])?, Var::of(&[1.0, -1.0], &[2])?);
/// assert_eq!(hinge_loss(&x, &y, Reduction::None)?.to_vec::<f64>()?, [0.0, 1.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hinge_loss(input: &Var, target: &Var, reduction: Reduction) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("hinge_loss", &[input, target])?;
    reduced(&relu(&(1.0 - mul(input, target)?))?, reduction)
}
