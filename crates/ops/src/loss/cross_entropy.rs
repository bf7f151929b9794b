//! `cross_entropy`: how far logits are from labels.

use super::class_losses::class_losses;
use super::classes::{Labels, class_axis, labels_fit, weights_fit};
use super::reduction::{Reduction, floats};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{dim_size, log_softmax, reshape, sum, where_};

options! {
    /// Options of [`cross_entropy`].
    pub struct CrossEntropyOptions {
        /// What becomes of the losses of single labels.
        pub reduction: Reduction = Reduction::Mean,
        /// The label that does not count; for labels that are numbers of classes only.
        pub ignore_index: i64 = -100,
        /// Which part of each label is spread evenly over all classes.
        pub label_smoothing: f64 = 0.0,
    }
}

/// The cross entropy of labels and the softmax of logits, reduced. `input` holds logits, `[classes]`
/// or `[batch, classes, ..]`.
///
/// `target` holds the numbers of classes, `i64`, and has the same axes without that of the classes;
/// or probabilities of classes, in the shape of `input`. With `weight`, one per class, the terms of
/// classes are weighted; the mean of numbered labels is then the weighted one, while that of
/// probabilities is over the batch. If no label counts, the mean is NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let logits = Var::of(&[0.0, 0.0, 1000.0, 0.0], &[2, 2])?;
/// let labels = Var::of(&[1i64, 0], &[2])?;
/// let options = CrossEntropyOptions::default().reduction(Reduction::Sum);
/// let loss = cross_entropy(&logits, &labels, None, options)?;
/// assert!((loss.item::<f64>()? - 2.0f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cross_entropy(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    options: CrossEntropyOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    let weight = precision.maybe(weight)?;
    let weight = weight.as_ref();
    let inputs: Vec<&Var> = [input, target].into_iter().chain(weight).collect();
    let axis = judged("cross_entropy", &inputs, |types| {
        floats(&types[..1])?;
        types.get(2).map_or(Ok(()), |weight| weights_fit(&types[0], weight))?;
        smoothing_fits(options.label_smoothing)?;
        match types[1].is_float() {
            true => probabilities_fit(&types[0], &types[1], options.ignore_index),
            false => labels_fit(&types[0], &types[1]),
        }
    })?;
    if let Some(losses) = by_rows(input, target, weight, &options)? {
        return Labels::counts(
            target,
            input.dtype(),
            options.ignore_index,
            &losses,
            options.reduction,
        );
    }
    let log_probs = log_softmax(input, axis as i64)?;
    match target.ty().is_float() {
        true => soft(&log_probs, target, weight, axis, &options),
        false => hard(&log_probs, target, weight, axis, &options),
    }
}

/// The losses in one pass, where there is nothing but rows of logits and numbers of classes.
#[track_caller]
fn by_rows(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    options: &CrossEntropyOptions,
) -> Result<Option<Var>> {
    let plain = weight.is_none()
        && options.label_smoothing == 0.0
        && !target.ty().is_float()
        && input.rank() == 2
        && matches!(input.dtype(), DType::F32 | DType::F64);
    match plain {
        true => class_losses(input, target, options.ignore_index).map(Some),
        false => Ok(None),
    }
}

fn smoothing_fits(smoothing: f64) -> Result<()> {
    match (0.0..=1.0).contains(&smoothing) {
        true => Ok(()),
        false => {
            Err(Error::argument(format!("a label smoothing of {smoothing} is not between 0 and 1")))
        }
    }
}

fn probabilities_fit(input: &Type, target: &Type, ignore_index: i64) -> Result<usize> {
    if target.dims() != input.dims() {
        return Err(Error::shape(format!("probabilities {target} do not fit {input}")).remedy(
            "they have the shape of the input; labels that are numbers of classes are i64",
        ));
    }
    if ignore_index != CrossEntropyOptions::default().ignore_index {
        return Err(Error::argument("probabilities of classes have no label to ignore"));
    }
    class_axis(input)
}

/// The weights of classes along their axis.
fn along(weight: &Var, axis: usize, rank: usize) -> Result<Var> {
    let mut dims = vec![Dim::size(1); rank];
    dims[axis] = weight.ty().dim(0);
    reshape(weight, &dims)
}

fn hard(
    log_probs: &Var,
    target: &Var,
    weight: Option<&Var>,
    axis: usize,
    options: &CrossEntropyOptions,
) -> Result<Var> {
    let labels = Labels::new(log_probs, axis, target, weight, options.ignore_index)?;
    let mut losses = labels.losses(log_probs, axis)?;
    if options.label_smoothing > 0.0 {
        let weighted = match weight {
            Some(weight) => mul(log_probs, &along(weight, axis, log_probs.rank())?)?,
            None => log_probs.clone(),
        };
        let spread = neg(&sum(&weighted, &[axis as i64], false)?)?;
        let spread = where_(&labels.counted, &spread, &zeros_like(&spread)?)?;
        let classes = dim_size(log_probs.ty().dim(axis), log_probs.dtype())?;
        losses =
            losses * (1.0 - options.label_smoothing) + spread * options.label_smoothing / classes;
    }
    labels.reduced(&losses.check()?, options.reduction)
}

fn soft(
    log_probs: &Var,
    target: &Var,
    weight: Option<&Var>,
    axis: usize,
    options: &CrossEntropyOptions,
) -> Result<Var> {
    let mut target = target.clone();
    if options.label_smoothing > 0.0 {
        let classes = dim_size(log_probs.ty().dim(axis), log_probs.dtype())?;
        let spread = options.label_smoothing / classes;
        target = target * (1.0 - options.label_smoothing) + spread;
    }
    let mut terms = neg(&mul(log_probs, &target)?)?;
    if let Some(weight) = weight {
        terms = mul(&terms, &along(weight, axis, log_probs.rank())?)?;
    }
    super::reduction::reduced(&sum(&terms, &[axis as i64], false)?, options.reduction)
}
