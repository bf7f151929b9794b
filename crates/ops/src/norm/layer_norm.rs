//! `layer_norm`: each element against the others of its sample.

use super::family::{have_dims, is_eps, last_axes};
use super::normalise::{Normalise, Together};
use crate::prelude::*;

/// `x` over its last `axes_count` axes with mean 0 and variance 1 (plus `eps` under the root), then times
/// `weight` plus `bias`, whose dims are those axes. Half floats are computed in `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 10.0, 30.0], &[2, 2])?;
/// let y = layer_norm(&x, 1, None, None, 0.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn layer_norm(
    x: &Var,
    axes_count: usize,
    weight: Option<&Var>,
    bias: Option<&Var>,
    eps: f64,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    last_axes(&ty, axes_count)
        .and_then(|own| have_dims(&[("weight", weight), ("bias", bias)], own))
        .and_then(|()| is_eps(eps))
        .map_err(|error| error.in_op("layer_norm", &[&ty]).at(loc))?;
    Ok(Normalise::run(Together::Layer, axes_count, eps, x, weight, bias)?.remove(0))
}
