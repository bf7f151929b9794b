//! `margin_ranking_loss`: pairs in the wrong order.

use super::reduction::{Reduction, alike, reduced};
use super::stable::positive;
use crate::prelude::*;

options! {
    /// Options of [`margin_ranking_loss`].
    pub struct MarginRankingLossOptions {
        /// What becomes of the losses of single pairs.
        pub reduction: Reduction = Reduction::Mean,
        /// How far apart pairs should be.
        pub margin: f64 = 0.0,
    }
}

/// `max(0, margin - target * (first - second))`, reduced: the target is 1 where the first should be
/// greater, else -1.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[1.0, 1.0], &[2])?, Var::of(&[3.0, 0.5], &[2])?);
/// let y = Var::of(&[1.0, 1.0], &[2])?;
/// let loss = margin_ranking_loss(&a, &b, &y, MarginRankingLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn margin_ranking_loss(
    first: &Var,
    second: &Var,
    target: &Var,
    options: MarginRankingLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (first, second, target) =
        (&precision.of(first)?, &precision.of(second)?, &precision.of(target)?);
    alike("margin_ranking_loss", &[first, second, target])?;
    reduced(&positive(&(options.margin - target * (first - second)))?, options.reduction)
}
