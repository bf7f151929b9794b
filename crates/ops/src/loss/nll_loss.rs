//! `nll_loss`: negative logarithms of the probabilities of labels.

use super::classes::{Labels, labels_fit, weights_fit};
use super::reduction::{Reduction, floats};
use crate::prelude::*;
use crate::shape::derived::judged;

options! {
    /// Options of [`nll_loss`].
    pub struct NllLossOptions {
        /// What becomes of the losses of single labels.
        pub reduction: Reduction = Reduction::Mean,
        /// The label that does not count.
        pub ignore_index: i64 = -100,
    }
}

/// The negative logarithms of the probabilities of labels, reduced. `input` holds logarithms of
/// probabilities, `[classes]` or `[batch, classes, ..]`; `target` holds labels and has the same
/// axes without that of the classes.
///
/// With `weight`, one per class, each loss is multiplied by the weight of its label, and the mean
/// is the weighted one. If no label counts, the mean is NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[-1.0, -2.0, -3.0, -4.0], &[2, 2])?;
/// let loss = nll_loss(&x, &Var::of(&[0i64, 1], &[2])?, None, NllLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 2.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn nll_loss(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    options: NllLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    let weight = precision.maybe(weight)?;
    let weight = weight.as_ref();
    let inputs: Vec<&Var> = [input, target].into_iter().chain(weight).collect();
    let axis = judged("nll_loss", &inputs, |types| {
        floats(&types[..1])?;
        types.get(2).map_or(Ok(()), |weight| weights_fit(&types[0], weight))?;
        labels_fit(&types[0], &types[1])
    })?;
    let labels = Labels::new(input, axis, target, weight, options.ignore_index)?;
    labels.reduced(&labels.losses(input, axis)?, options.reduction)
}
