//! `quantile` and `median`: elements by rank, derived from `sort`.

use super::Reduction;
use super::family::{narrowed, number, widened};
use crate::binary::{eq, logical_and, ne, where_};
use crate::prelude::*;
use crate::reduce::quantile_positions::quantile_positions;
use crate::shape::derived::judged;
use crate::shape::{permute, reshape};
use crate::sort::sort;
use crate::unary::abs;
use crate::{gather, narrow};

choices! {
    /// How a quantile between two elements is found; the names are numpy's.
    pub enum QuantileRule {
        /// By linear interpolation, such that the least element is the quantile of 0 and the greatest
        /// that of 1.
        Linear = "linear",
        /// The lower of the two.
        Lower = "lower",
        /// The higher of the two.
        Higher = "higher",
        /// The mean of the two.
        Midpoint = "midpoint",
        /// The nearer of the two; the one of even rank if both are as near.
        Nearest = "nearest",
        /// The least element up to which there are enough.
        InvertedCdf = "inverted_cdf",
        /// The same, and the mean of two elements where both would do.
        AveragedInvertedCdf = "averaged_inverted_cdf",
        /// Linear between the ranks `1/n, 2/n, …`.
        InterpolatedInvertedCdf = "interpolated_inverted_cdf",
        /// Linear between the middles of the steps.
        Hazen = "hazen",
        /// Linear between the ranks `1/(n+1), 2/(n+1), …`.
        Weibull = "weibull",
        /// Unbiased for the median, whatever the distribution.
        MedianUnbiased = "median_unbiased",
        /// Unbiased for normal distributions.
        NormalUnbiased = "normal_unbiased",
    }
}

/// The number below which a share `q` of the elements lies, over some axes; over all, if none are
/// named. NaN if there is one. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[4.0, 1.0, 3.0, 2.0], &[4])?;
/// assert_eq!(quantile(&x, 0.25, &[], false, QuantileRule::Linear)?.item::<f64>()?, 1.75);
/// assert_eq!(quantile(&x, 0.25, &[], false, QuantileRule::Lower)?.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn quantile(
    x: &Var,
    q: f64,
    axes: &[i64],
    keepdims: bool,
    method: QuantileRule,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let found = quantiles_of("quantile", x, &[q], axes, keepdims, method)?;
    reshape(&found, &found.dims()[1..])
}

/// Several quantiles at once, each as [`quantile`] gives it, along a new first axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[4.0, 1.0, 3.0, 2.0, 5.0], &[5])?;
/// let found = quantiles(&x, &[0.0, 0.5, 1.0], &[], false, QuantileRule::Linear)?;
/// assert_eq!(found.to_vec::<f64>()?, [1.0, 3.0, 5.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn quantiles(
    x: &Var,
    q: &[f64],
    axes: &[i64],
    keepdims: bool,
    method: QuantileRule,
) -> Result<Var> {
    let _line = at(scope::user_line());
    quantiles_of("quantiles", x, q, axes, keepdims, method)
}

/// The middle element over some axes, or the mean of the two middle ones, as in numpy; over all axes,
/// if none are named. NaN if there is one. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[4.0, 1.0, 3.0, 2.0], &[4])?;
/// assert_eq!(median(&x, &[], false)?.item::<f64>()?, 2.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn median(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    let found = quantiles_of("median", x, &[0.5], axes, keepdims, QuantileRule::Linear)?;
    reshape(&found, &found.dims()[1..])
}

fn quantiles_of(
    name: &str,
    x: &Var,
    q: &[f64],
    axes: &[i64],
    keepdims: bool,
    method: QuantileRule,
) -> Result<Var> {
    let reduction = judged(name, &[x], |ty| {
        if let Some(q) = q.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            return Err(Error::argument(format!("{q} is not a share of the elements"))
                .remedy("a share is a number from 0 to 1"));
        }
        let reduction = Reduction::new(axes, keepdims, &ty[0])?;
        reduction.not_empty(name).map(|()| reduction)
    })?;
    let (x, dtype) = widened(x)?;
    let count = reduction.count()?;
    let (sorted, _) = sort(&reduction.merged(&x)?, -1, false)?;
    let (low, high, share) = quantile_positions(q, count, method, x.dtype())?;
    let (low, high) = (gather(&sorted, &low, -1)?, gather(&sorted, &high, -1)?);
    // Between equal infinite elements there is no way to go.
    let infinite = eq(&abs(&low)?, &number(f64::INFINITY, x.dtype())?)?;
    let stuck = logical_and(&eq(&low, &high)?, &infinite)?;
    let between = where_(&stuck, &low, &(&low + (&high - &low) * share))?;
    let last = narrow(&sorted, -1, count.sub(Dim::size(1))?, Dim::size(1))?;
    let found = where_(&ne(&last, &last)?, &last, &between)?;

    let rank = found.rank() as i64;
    let first: Vec<i64> = [rank - 1].into_iter().chain(0..rank - 1).collect();
    let mut dims = vec![Dim::size(q.len())];
    dims.extend(reduction.infer(dtype)?[0].dims());
    narrowed(&reshape(&permute(&found, &first)?, &dims)?, dtype)
}
