//! `mean`: the average over axes, derived from `sum`.

use super::{Reduction, sum};
use crate::dim_size;
use crate::prelude::*;

/// The average over some axes; over all, if none are named. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(mean(&x, &[], false)?.item::<f64>()?, 2.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn mean(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let reduction =
        Reduction::new(axes, keepdims, &ty).map_err(|error| error.in_op("mean", &[&ty]).at(loc))?;
    let x = if ty.is_float() { x.clone() } else { cast(x, DType::F32)? };
    let total = sum(&x, axes, keepdims)?;
    let count = reduction.axes.iter().try_fold(Dim::size(1), |all, &i| all.mul(ty.dim(i)))?;
    let count = dim_size(count, x.dtype())?;
    div(&total, &count)
}
