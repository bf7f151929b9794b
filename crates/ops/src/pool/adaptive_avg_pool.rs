//! `adaptive_avg_pool`: the means of so many windows, axis by axis.

use super::geometry::{has_axes, is_float};
use crate::image::{Resample, Resampling};
use crate::prelude::*;

/// The means of so many windows on the last axis, as PyTorch's `adaptive_avg_pool1d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0, 0.0], &[1, 1, 5])?;
/// assert_eq!(adaptive_avg_pool1d(&x, 2usize.into())?.to_vec::<f64>()?, [2.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_avg_pool1d(x: &Var, sizes: PerAxis) -> Result<Var> {
    pooled("adaptive_avg_pool1d", 1, x, &sizes)
}

/// The means of so many windows on each of the last two axes, as PyTorch's `adaptive_avg_pool2d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// assert_eq!(adaptive_avg_pool2d(&x, [2, 1].into())?.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_avg_pool2d(x: &Var, sizes: PerAxis) -> Result<Var> {
    pooled("adaptive_avg_pool2d", 2, x, &sizes)
}

/// The means of so many windows on each of the last three axes, as PyTorch's `adaptive_avg_pool3d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// assert_eq!(adaptive_avg_pool3d(&x, 1usize.into())?.to_vec::<f64>()?, [2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_avg_pool3d(x: &Var, sizes: PerAxis) -> Result<Var> {
    pooled("adaptive_avg_pool3d", 3, x, &sizes)
}

#[track_caller]
fn pooled(name: &str, n_axes: usize, x: &Var, sizes: &PerAxis) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let pooled = || {
        is_float(&ty)?;
        has_axes(&ty, n_axes)?;
        let sizes = sizes.of(n_axes)?;
        let mut y = x.clone();
        for (i, &size) in sizes.iter().enumerate() {
            let axis = (ty.rank() - n_axes + i) as i64;
            let op = Resample {
                axis,
                size: Dim::size(size),
                mode: Resampling::Area,
                align_corners: false,
                scale: None,
            };
            y = bind1(op, &[&y])?;
        }
        Ok(y)
    };
    pooled().map_err(|error: Error| error.in_op(name, &[&ty]).at(loc))
}
