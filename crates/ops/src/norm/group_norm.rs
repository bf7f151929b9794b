//! `group_norm` and `instance_norm`: groups of channels of a sample by statistics of their own.

use super::family::{Layout, have_dims, is_eps, is_floats};
use super::normalise::{Normalise, Together};
use crate::prelude::*;

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
    check(&ty, weight, bias, eps)
        .and_then(|()| some(groups))
        .and_then(|()| Layout::new(Together::Group, groups, &ty))
        .map_err(|error| error.in_op("group_norm", &[&ty]).at(loc))?;
    Ok(Normalise::run(Together::Group, groups, eps, x, weight, bias)?.remove(0))
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
    Ok(Normalise::run(Together::Group, 0, eps, x, weight, bias)?.remove(0))
}

fn check(x: &Type, weight: Option<&Var>, bias: Option<&Var>, eps: f64) -> Result<()> {
    is_floats(x, 2)?;
    is_eps(eps)?;
    have_dims(&[("weight", weight), ("bias", bias)], &[x.dim(1)])
}

fn some(groups: usize) -> Result<()> {
    match groups {
        0 => Err(Error::argument("channels do not make 0 groups")),
        _ => Ok(()),
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
