//! `smooth_l1_loss`: absolute values, rounded off at zero.

use super::huber_loss::huber;
use super::reduction::{Reduction, alike, reduced};
use crate::abs;
use crate::prelude::*;
use crate::shape::derived::judged;

options! {
    /// Options of [`smooth_l1_loss`].
    pub struct SmoothL1LossOptions {
        /// What becomes of the losses of single elements.
        pub reduction: Reduction = Reduction::Mean,
        /// Where absolute values begin; with zero, they are all.
        pub beta: f64 = 1.0,
    }
}

/// The absolute differences of `input` and `target` less `beta / 2`; where they are less than
/// `beta`, half their squares by `beta`; reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1.0, 3.0], &[2])?, Var::of(&[0.0, 0.0], &[2])?);
/// let options = SmoothL1LossOptions::default().beta(2.0).reduction(Reduction::None);
/// assert_eq!(smooth_l1_loss(&x, &y, options)?.to_vec::<f64>()?, [0.25, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn smooth_l1_loss(input: &Var, target: &Var, options: SmoothL1LossOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("smooth_l1_loss", &[input, target])?;
    let beta = options.beta;
    judged("smooth_l1_loss", &[input, target], |_| match beta >= 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("`beta` is {beta}, but must not be negative"))),
    })?;
    let difference = sub(input, target)?;
    let losses = match beta == 0.0 {
        true => abs(&difference)?,
        false => (huber(&difference, beta)? / beta).check()?,
    };
    reduced(&losses, options.reduction)
}
