//! `rms_norm`: each element against the size of its sample.

use super::family::{finished, have_dims, is_eps, widened};
use super::layer_norm::last_axes;
use crate::prelude::*;
use crate::{mean, sqrt};

/// `x / sqrt(mean(x^2) + eps)` over its last `axes_count` axes, times `weight`, whose dims are those axes.
/// Half floats are computed in `f32`. PyTorch's default `eps` is the smallest step of the element type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 7.0], &[2])?;
/// assert_eq!(rms_norm(&x, 1, None, 0.0)?.to_vec::<f64>()?, [0.2, 1.4]);
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
    let axes: Vec<i64> = (1..=axes_count as i64).map(|axis| -axis).collect();
    let x = widened(x)?;
    let square = mean(&(&x * &x), &axes, true)?;
    let y = div(&x, &sqrt(&(square + eps))?)?;
    finished(&y, weight.cloned(), None, ty.dtype())
}
