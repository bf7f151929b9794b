//! What normalisations share: moments in a stable form, and scales and shifts that broadcast.

use crate::prelude::*;
use crate::shape::reshape;
use crate::{mean, sqrt};

/// A value with its mean and its mean squared distance from it, over axes that are kept.
pub(super) struct Moments {
    /// The value less its mean.
    pub centred: Var,
    /// The mean.
    pub mean: Var,
    /// The variance, without correction.
    pub variance: Var,
}

impl Moments {
    /// Two passes: the mean first, then the squares of the distances from it.
    pub fn new(x: &Var, axes: &[i64]) -> Result<Moments> {
        let average = mean(x, axes, true)?;
        let centred = sub(x, &average)?;
        let variance = mean(&mul(&centred, &centred)?, axes, true)?;
        Ok(Moments { centred, mean: average, variance })
    }

    /// The value with mean 0 and variance 1.
    pub fn normalised(&self, eps: f64) -> Result<Var> {
        div(&self.centred, &sqrt(&(&self.variance + eps))?)
    }
}

/// The value in the type that statistics are computed in: `f32` for half floats.
pub(super) fn widened(x: &Var) -> Result<Var> {
    match x.dtype().compute() == x.dtype() {
        true => Ok(x.clone()),
        false => cast(x, x.dtype().compute()),
    }
}

/// `x * weight + bias` for those that are given, in the element type `dtype` if that is a half float.
pub(super) fn finished(
    x: &Var,
    weight: Option<Var>,
    bias: Option<Var>,
    dtype: DType,
) -> Result<Var> {
    let mut y = x.clone();
    if let Some(weight) = weight {
        y = mul(&y, &weight)?;
    }
    if let Some(bias) = bias {
        y = add(&y, &bias)?;
    }
    match dtype.compute() == dtype {
        true => Ok(y),
        false => cast(&y, dtype),
    }
}

/// A value with one number for each channel, shaped so that it broadcasts against `x`, whose channels
/// are axis 1.
pub(super) fn per_channel(x: &Type, param: &Var) -> Result<Var> {
    let mut dims: SmallVec<[Dim; 8]> = smallvec![Dim::size(1); x.rank()];
    dims[1] = x.dim(1);
    reshape(param, &dims)
}

/// Both of a weight and a bias, each as [`per_channel`].
pub(super) fn per_channel_pair(
    x: &Type,
    weight: Option<&Var>,
    bias: Option<&Var>,
) -> Result<(Option<Var>, Option<Var>)> {
    let shaped = |param: Option<&Var>| param.map(|param| per_channel(x, param)).transpose();
    Ok((shaped(weight)?, shaped(bias)?))
}

/// Refuses what is not a tensor of floats of at least `rank` axes.
pub(super) fn is_floats(x: &Type, rank: usize) -> Result<()> {
    if x.is_list() || !x.is_float() {
        return Err(Error::dtype("only floats are normalised").remedy("cast to a float type first"));
    }
    match x.rank() >= rank {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "expected at least {rank} axes, the first two being batch and channels"
        ))),
    }
}

/// Refuses an `eps` that would not keep a root from being negative.
pub(super) fn is_eps(eps: f64) -> Result<()> {
    match eps >= 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("eps is {eps}, but cannot be negative"))),
    }
}

/// Refuses parameters of other dims than these.
pub(super) fn have_dims(params: &[(&str, Option<&Var>)], dims: &[Dim]) -> Result<()> {
    for (name, param) in params {
        let Some(param) = param else { continue };
        let ty = (*param).clone().check()?.ty();
        if ty.is_list() || ty.dims() != dims {
            let wanted: Vec<String> = dims.iter().map(Dim::to_string).collect();
            return Err(Error::shape(format!(
                "the {name} is {ty}, but its sizes should be [{}]",
                wanted.join(", ")
            )));
        }
    }
    Ok(())
}
