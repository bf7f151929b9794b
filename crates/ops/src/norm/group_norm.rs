//! `group_norm` and `instance_norm`: groups of channels of a sample by statistics of their own.

use super::family::{Moments, finished, have_dims, is_eps, is_floats, per_channel_pair, widened};
use crate::prelude::*;
use crate::shape::reshape;

/// `x`, whose channels are axis 1, in `groups` groups of neighbouring channels, each of which gets mean 0
/// and variance 1 in every sample (plus `eps` under the root). Then times `weight` plus `bias`, one number
/// for each channel.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 10.0, 30.0], &[1, 4])?;
/// let y = group_norm(&x, 2, None, None, 0.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn group_norm(
    x: &Var,
    groups: usize,
    weight: Option<&Var>,
    bias: Option<&Var>,
    eps: f64,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let per_group = check(&ty, weight, bias, eps)
        .and_then(|()| channels_per_group(&ty, groups))
        .map_err(|error| error.in_op("group_norm", &[&ty]).at(loc))?;
    let mut dims = SmallVec::<[Dim; 8]>::from_slice(&[ty.dim(0), Dim::size(groups), per_group]);
    dims.extend_from_slice(&ty.dims()[2..]);
    let grouped = reshape(&widened(x)?, &dims)?;
    let axes: Vec<i64> = (2..dims.len() as i64).collect();
    let y = reshape(&Moments::new(&grouped, &axes)?.normalised(eps)?, ty.dims())?;
    let (weight, bias) = per_channel_pair(&ty, weight, bias)?;
    finished(&y, weight, bias, ty.dtype())
}

/// `x`, whose channels are axis 1, with mean 0 and variance 1 in every channel of every sample (plus
/// `eps` under the root). Then times `weight` plus `bias`, one number for each channel.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 10.0, 30.0], &[1, 2, 2])?;
/// let y = instance_norm(&x, None, None, 0.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn instance_norm(x: &Var, weight: Option<&Var>, bias: Option<&Var>, eps: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    check(&ty, weight, bias, eps)
        .and_then(|()| has_several(&ty))
        .map_err(|error| error.in_op("instance_norm", &[&ty]).at(loc))?;
    let axes: Vec<i64> = (2..ty.rank() as i64).collect();
    let y = Moments::new(&widened(x)?, &axes)?.normalised(eps)?;
    let (weight, bias) = per_channel_pair(&ty, weight, bias)?;
    finished(&y, weight, bias, ty.dtype())
}

fn check(x: &Type, weight: Option<&Var>, bias: Option<&Var>, eps: f64) -> Result<()> {
    is_floats(x, 2)?;
    is_eps(eps)?;
    have_dims(&[("weight", weight), ("bias", bias)], &[x.dim(1)])
}

fn channels_per_group(x: &Type, groups: usize) -> Result<Dim> {
    let Some(channels) = x.dim(1).value() else {
        return Err(Error::shape("the number of channels must be known to group them")
            .remedy("declare axis 1 with a number instead of a symbol"));
    };
    match groups > 0 && channels % groups == 0 {
        true => Ok(Dim::size(channels / groups)),
        false => Err(Error::argument(format!("{channels} channels do not make {groups} groups"))),
    }
}

fn has_several(x: &Type) -> Result<()> {
    match x.dims()[2..].iter().all(|&dim| dim == Dim::size(1)) {
        true => Err(Error::shape("there is only one element for each channel of a sample").remedy(
            "the axes after the channels are normalised over: there must be more elements",
        )),
        false => Ok(()),
    }
}
