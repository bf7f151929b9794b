//! `mean`: the average over axes, derived from `sum`.

use super::family::{narrowed, widened};
use super::{Reduction, sum};
use crate::dim_size;
use crate::prelude::*;
use crate::shape::derived::judged;

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
    let _line = at(scope::user_line());
    let reduction = judged("mean", &[x], |ty| Reduction::new(axes, keepdims, &ty[0]))?;
    let (x, dtype) = widened(x)?;
    let total = sum(&x, axes, keepdims)?;
    narrowed(&div(&total, &dim_size(reduction.count()?, x.dtype())?)?, dtype)
}
