//! `layer_norm`: each element against the others of its sample.

use super::family::{Moments, finished, have_dims, is_eps, is_floats, widened};
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
    let axes: Vec<i64> = (1..=axes_count as i64).map(|axis| -axis).collect();
    let y = Moments::new(&widened(x)?, &axes)?.normalised(eps)?;
    finished(&y, weight.cloned(), bias.cloned(), ty.dtype())
}

/// The dims of the last axes, of which there must be so many.
pub(super) fn last_axes(x: &Type, count: usize) -> Result<&[Dim]> {
    is_floats(x, 0)?;
    match count {
        0 => Err(Error::argument("there are no axes to normalise over")
            .remedy("name at least one of the last axes")),
        _ if count > x.rank() => Err(Error::shape(format!(
            "the last {count} axes of a value with {} were asked for",
            x.rank()
        ))),
        _ => Ok(&x.dims()[x.rank() - count..]),
    }
}
