//! Losses of hard labels: what `nll_loss` and `cross_entropy` share.

use super::reduction::Reduction;
use crate::prelude::*;
use crate::{dim_size, gather, lt, ne, sum, take_along_axis, unsqueeze, where_};

/// The axis of the classes: the second, or the only one.
pub(super) fn class_axis(input: &Type) -> Result<usize> {
    match input.rank() {
        0 => Err(Error::shape("expected an axis of classes, found a scalar")
            .remedy("the input is [classes] or [batch, classes, ..]")),
        rank => Ok(rank.min(2) - 1),
    }
}

/// Refuses labels that do not fit the input; gives the axis of the classes.
pub(super) fn labels_fit(input: &Type, target: &Type) -> Result<usize> {
    let axis = class_axis(input)?;
    if target.dtype() != DType::I64 {
        return Err(Error::dtype(format!("labels are i64, found {target}")).remedy("cast them"));
    }
    let mut dims = SmallVec::<[Dim; 8]>::from_slice(input.dims());
    dims.remove(axis);
    match target.dims() == &dims[..] {
        true => Ok(axis),
        false => Err(Error::shape(format!("labels {target} do not fit {input}"))
            .remedy("labels have the input's axes without that of the classes, which is axis 1")),
    }
}

/// Refuses weights that are not one per class.
pub(super) fn weights_fit(input: &Type, weight: &Type) -> Result<()> {
    let classes = input.dim(class_axis(input)?);
    match weight.is_float() && weight.dims() == [classes] {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "expected a weight for each of {classes} classes, found {weight}"
        ))),
    }
}

/// Labels, which of them count, and how much.
pub(super) struct Labels {
    /// The labels; zero where ignored.
    pub labels: Var,
    /// Which are not ignored.
    pub counted: Var,
    /// The weight of each; zero where ignored.
    pub weights: Var,
}

impl Labels {
    #[track_caller]
    pub fn new(
        input: &Var,
        axis: usize,
        target: &Var,
        weight: Option<&Var>,
        ignore: i64,
    ) -> Result<Labels> {
        let scalar = |value: i64| Var::scalar(value);
        let counted = ne(target, &scalar(ignore))?;
        let labels = where_(&counted, target, &scalar(0))?;
        // A label below zero must not count from the back: it is moved out of range.
        let classes = dim_size(input.ty().dim(axis), DType::I64)?;
        let negative = lt(&labels, &scalar(0))?;
        let labels = where_(&negative, &sub(&labels, &classes)?, &labels)?;
        let weights = match weight {
            Some(weight) => gather(weight, &labels, 0)?,
            None => fill(1.0, &labels.ty().with_dtype(input.dtype()))?,
        };
        let weights = where_(&counted, &weights, &zeros_like(&weights)?)?;
        Ok(Labels { labels, counted, weights })
    }

    /// The losses of the labels, before they are reduced.
    #[track_caller]
    pub fn losses(&self, log_probs: &Var, axis: usize) -> Result<Var> {
        let index = unsqueeze(&self.labels, axis as i64)?;
        let picked = take_along_axis(log_probs, &index, axis as i64)?;
        let picked = crate::reshape(&picked, self.labels.ty().dims())?;
        let losses = neg(&mul(&picked, &self.weights)?)?;
        where_(&self.counted, &losses, &zeros_like(&losses)?)
    }

    /// The losses of labels that all weigh the same, reduced: the mean is that of those that count.
    #[track_caller]
    pub fn counts(
        target: &Var,
        dtype: DType,
        ignore: i64,
        losses: &Var,
        reduction: Reduction,
    ) -> Result<Var> {
        match reduction {
            Reduction::None => Ok(losses.clone()),
            Reduction::Sum => sum(losses, &[], false),
            Reduction::Mean => {
                let counted = cast(&ne(target, &Var::scalar(ignore))?, dtype)?;
                div(&sum(losses, &[], false)?, &sum(&counted, &[], false)?)
            }
        }
    }

    /// The losses, reduced: the mean is that of the weights.
    #[track_caller]
    pub fn reduced(&self, losses: &Var, reduction: Reduction) -> Result<Var> {
        match reduction {
            Reduction::None => Ok(losses.clone()),
            Reduction::Sum => sum(losses, &[], false),
            Reduction::Mean => div(&sum(losses, &[], false)?, &sum(&self.weights, &[], false)?),
        }
    }
}
