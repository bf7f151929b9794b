//! `huber_loss`: squares near zero, absolute values far from it.

use super::reduction::{Reduction, alike, reduced};
use super::stable::number;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{abs, lt, where_};

options! {
    /// Options of [`huber_loss`].
    pub struct HuberLossOptions {
        /// What becomes of the losses of single elements.
        pub reduction: Reduction = Reduction::Mean,
        /// Where squares end; positive.
        pub delta: f64 = 1.0,
    }
}

/// Half the squared differences of `input` and `target` where they are less than `delta`, else
/// `delta * (|difference| - delta / 2)`, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[0.5, 3.0], &[2])?, Var::of(&[0.0, 0.0], &[2])?);
/// let loss = huber_loss(&x, &y, HuberLossOptions::default().reduction(Reduction::None))?;
/// assert_eq!(loss.to_vec::<f64>()?, [0.125, 2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn huber_loss(input: &Var, target: &Var, options: HuberLossOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("huber_loss", &[input, target])?;
    let delta = options.delta;
    judged("huber_loss", &[input, target], |_| match delta > 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("`delta` is {delta}, but must be positive"))),
    })?;
    reduced(&huber(&sub(input, target)?, delta)?, options.reduction)
}

/// Of each element.
#[track_caller]
pub(super) fn huber(difference: &Var, delta: f64) -> Result<Var> {
    let distance = abs(difference)?;
    let near = lt(&distance, &number(delta, difference)?)?;
    where_(&near, &(difference * difference * 0.5), &((distance - 0.5 * delta) * delta))
}
