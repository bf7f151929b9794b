//! `binary_cross_entropy_with_logits`: how far logits are from truths.

use super::reduction::{Reduction, alike, reduced};
use crate::log_sigmoid;
use crate::prelude::*;

/// The cross entropy of the sigmoid of logits and targets between 0 and 1, reduced. It stays exact
/// for logits of any size.
///
/// `weight` multiplies the loss of each element, `pos_weight` the part of the positive targets;
/// both are broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1000.0, -1000.0], &[2])?, Var::of(&[1.0, 1.0], &[2])?);
/// let loss = binary_cross_entropy_with_logits(&x, &y, None, None, Reduction::None)?;
/// assert_eq!(loss.to_vec::<f64>()?, [0.0, 1000.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn binary_cross_entropy_with_logits(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    pos_weight: Option<&Var>,
    reduction: Reduction,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    let weight = precision.maybe(weight)?;
    let weight = weight.as_ref();
    let pos_weight = precision.maybe(pos_weight)?;
    let pos_weight = pos_weight.as_ref();
    alike("binary_cross_entropy_with_logits", &[input, target])?;
    let missing = neg(&log_sigmoid(input)?)?;
    let missing = match pos_weight {
        Some(pos_weight) => missing * (target * (pos_weight - 1.0) + 1.0),
        None => missing,
    };
    let losses = (1.0 - target) * input + missing;
    let losses = weight.map_or(losses.clone().check(), |weight| mul(&losses, weight))?;
    reduced(&losses, reduction)
}
