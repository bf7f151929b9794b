//! `rms_norm`: each element against the size of its sample.

use super::family::{have_dims, is_eps, last_axes};
use super::normalise::{Normalise, Together};
use crate::prelude::*;

/// `x / sqrt(mean(x^2) + eps)` over its last `axes_count` axes, times `weight`, whose dims are those axes.
/// Half floats are computed in `f32`. PyTorch's default `eps` is the smallest step of the element type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[2.0, -2.0], &[2])?;
/// assert_eq!(rms_norm(&x, 1, None, 0.0)?.to_vec::<f64>()?, [1.0, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rms_norm(x: &Var, axes_count: usize, weight: Option<&Var>, eps: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    last_axes(&ty, axes_count)
        .and_then(|own| have_dims(&[("weight", weight)], own))
        .and_then(|()| is_eps(eps))
        .map_err(|error| error.in_op("rms_norm", &[&ty]).at(loc))?;
    Ok(Normalise::run(Together::Rms, axes_count, eps, x, weight, None)?.remove(0))
}
