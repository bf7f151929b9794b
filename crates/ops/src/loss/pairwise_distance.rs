//! `pairwise_distance`: distances of vectors, pair by pair.

use crate::norm;
use crate::prelude::*;
use crate::shape::derived::judged;

options! {
    /// Options of [`pairwise_distance`].
    pub struct PairwiseDistanceOptions {
        /// Which norm measures the distance; may be infinite.
        pub p: f64 = 2.0,
        /// Added to each difference, so that the distance of equal vectors has a gradient.
        pub eps: f64 = 1e-6,
        /// Whether the last axis stays, with size one.
        pub keepdims: bool = false,
    }
}

/// The distances of the vectors in the last axis, which are broadcast together otherwise.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[3.0, 4.0], &[2])?, Var::of(&[0.0, 0.0], &[2])?);
/// let options = PairwiseDistanceOptions::default().eps(0.0);
/// assert_eq!(pairwise_distance(&a, &b, options)?.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pairwise_distance(a: &Var, b: &Var, options: PairwiseDistanceOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (a, b) = (&precision.of(a)?, &precision.of(b)?);
    let PairwiseDistanceOptions { p, eps, keepdims } = options;
    judged("pairwise_distance", &[a, b], |types| {
        super::reduction::numbers(types)?;
        if types[0].rank() == 0 || types[1].rank() == 0 {
            return Err(Error::shape("expected vectors in the last axis, found a scalar"));
        }
        match p > 0.0 {
            true => Ok(()),
            false => Err(Error::argument(format!("there is no norm of order {p}"))),
        }
    })?;
    norm(&(a - b + eps), p, &[-1], keepdims)
}
