//! `batch_norm`: each channel by statistics of its own.

use super::family::{Layout, affine, have_dims, is_eps, is_floats, moments, per_channel, widened};
use super::normalise::{Normalise, Together};
use crate::prelude::*;
use crate::shape::reshape;
use crate::sqrt;

/// `(x - mean) / sqrt(variance + eps) * weight + bias` with one number of each for every channel; the
/// channels of `x` are axis 1. This is the form for inference, with statistics from training.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 5.0], &[1, 2])?;
/// let (mean, variance) = (Var::of(&[0.0, 1.0], &[2])?, Var::of(&[1.0, 4.0], &[2])?);
/// assert_eq!(batch_norm(&x, &mean, &variance, None, None, 0.0)?.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn batch_norm(
    x: &Var,
    mean: &Var,
    variance: &Var,
    weight: Option<&Var>,
    bias: Option<&Var>,
    eps: f64,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let params =
        [("mean", Some(mean)), ("variance", Some(variance)), ("weight", weight), ("bias", bias)];
    check(&ty, &params, eps).map_err(|error| error.in_op("batch_norm", &[&ty]).at(loc))?;
    let centred = sub(&widened(x)?, &per_channel(&ty, mean)?)?;
    let y = div(&centred, &sqrt(&(per_channel(&ty, variance)? + eps))?)?;
    affine(Together::Batch, &y, weight, bias, ty.dtype())
}

/// [`batch_norm`] by the mean and the variance of `x` itself, over all axes but the channels, which are
/// axis 1. Returns the output, the mean and the variance. The variance is the one divided by the number
/// of elements; PyTorch's running variance takes it times `n / (n - 1)`. Gradients pass through both.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0], &[2, 1])?;
/// let (y, mean, variance) = batch_norm_train(&x, None, None, 0.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0]);
/// assert_eq!((mean.to_vec::<f64>()?, variance.to_vec::<f64>()?), (vec![2.0], vec![1.0]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn batch_norm_train(
    x: &Var,
    weight: Option<&Var>,
    bias: Option<&Var>,
    eps: f64,
) -> Result<(Var, Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    check(&ty, &[("weight", weight), ("bias", bias)], eps)
        .and_then(|()| has_several(&ty))
        .map_err(|error| error.in_op("batch_norm_train", &[&ty]).at(loc))?;
    let mut outputs = Normalise::run(Together::Batch, 0, eps, x, weight, bias)?;
    let (variance, mean) = (outputs.remove(2), outputs.remove(1));
    Ok((outputs.remove(0), mean, variance))
}

/// The mean and the variance of each channel, axis 1 of `x`, over all other axes; the variance is the one
/// divided by the number of elements.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0], &[2, 1])?;
/// let (mean, variance) = batch_moments(&x)?;
/// assert_eq!((mean.to_vec::<f64>()?, variance.to_vec::<f64>()?), (vec![2.0], vec![1.0]));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn batch_moments(x: &Var) -> Result<(Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    is_floats(&ty, 2)
        .and_then(|()| has_several(&ty))
        .map_err(|error| error.in_op("batch_moments", &[&ty]).at(loc))?;
    let layout = Layout::new(Together::Batch, 0, &ty)?;
    let found = moments(Together::Batch, &layout, x)?;
    let flat = |statistic: &Var| reshape(statistic, &layout.stats);
    Ok((flat(&found.mean)?, flat(&found.variance)?))
}

fn check(x: &Type, params: &[(&str, Option<&Var>)], eps: f64) -> Result<()> {
    is_floats(x, 2)?;
    is_eps(eps)?;
    have_dims(params, &[x.dim(1)])
}

/// A single element has no variance to speak of.
fn has_several(x: &Type) -> Result<()> {
    let mut others = x.dims().iter().enumerate().filter(|&(axis, _)| axis != 1);
    match others.all(|(_, &dim)| dim == Dim::size(1)) {
        true => Err(Error::shape("there is only one element for each channel")
            .remedy("use a larger batch, or `batch_norm` with statistics from training")),
        false => Ok(()),
    }
}
