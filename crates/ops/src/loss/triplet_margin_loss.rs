//! `triplet_margin_loss`: nearer to one than to another.

use super::pairwise_distance::{PairwiseDistanceOptions, pairwise_distance};
use super::reduction::{Reduction, alike_numbers, reduced};
use super::stable::positive as positive_part;
use crate::prelude::*;
use crate::{lt, where_};

options! {
    /// Options of [`triplet_margin_loss`].
    pub struct TripletMarginLossOptions {
        /// What becomes of the losses of single triplets.
        pub reduction: Reduction = Reduction::Mean,
        /// By how much the negative should be further away.
        pub margin: f64 = 1.0,
        /// Which norm measures distances.
        pub p: f64 = 2.0,
        /// Added to each difference.
        pub eps: f64 = 1e-6,
        /// Whether the distance of the positive and the negative counts, if it is less.
        pub swap: bool = false,
    }
}

/// `max(0, d(anchor, positive) - d(anchor, negative) + margin)` for the vectors in the last axis,
/// reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let at = |x: f64| Var::of(&[x], &[1, 1]);
/// let options = TripletMarginLossOptions::default().eps(0.0);
/// let loss = triplet_margin_loss(&at(0.0)?, &at(2.0)?, &at(1.5)?, options)?;
/// assert_eq!(loss.item::<f64>()?, 1.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn triplet_margin_loss(
    anchor: &Var,
    positive: &Var,
    negative: &Var,
    options: TripletMarginLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (anchor, positive, negative) =
        (&precision.of(anchor)?, &precision.of(positive)?, &precision.of(negative)?);
    alike_numbers("triplet_margin_loss", &[anchor, positive, negative])?;
    let TripletMarginLossOptions { reduction, margin, p, eps, swap } = options;
    let distance = |a: &Var, b: &Var| {
        pairwise_distance(a, b, PairwiseDistanceOptions { p, eps, keepdims: false })
    };
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if swap {
        let swapped = distance(positive, negative)?;
        far = where_(&lt(&swapped, &far)?, &swapped, &far)?;
    }
    reduced(&positive_part(&(near - far + margin))?, reduction)
}
