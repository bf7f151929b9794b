//! `binary_cross_entropy`: how far probabilities are from truths.

use super::reduction::{Reduction, alike, reduced};
use super::stable::log_at_least;
use crate::prelude::*;

/// The cross entropy of probabilities, between 0 and 1, and targets, also between 0 and 1, with an
/// optional weight for each element, reduced. Logarithms are cut at -100, as in PyTorch, so that
/// the loss is finite; where one is cut, no gradient passes.
///
/// Where the probabilities are the sigmoid of something,
/// [`binary_cross_entropy_with_logits`](crate::binary_cross_entropy_with_logits) is more exact.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[0.0, 1.0], &[2])?, Var::of(&[1.0, 1.0], &[2])?);
/// let loss = binary_cross_entropy(&x, &y, None, Reduction::None)?;
/// assert_eq!(loss.to_vec::<f64>()?, [100.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn binary_cross_entropy(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    reduction: Reduction,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    let weight = precision.maybe(weight)?;
    let weight = weight.as_ref();
    alike("binary_cross_entropy", &[input, target])?;
    let (log_yes, log_no) = (log_at_least(input, -100.0)?, log_at_least(&(1.0 - input), -100.0)?);
    let losses = -(target * log_yes + (1.0 - target) * log_no);
    let losses = weight.map_or(Ok(losses.clone()), |weight| mul(&losses, weight))?;
    reduced(&losses, reduction)
}
