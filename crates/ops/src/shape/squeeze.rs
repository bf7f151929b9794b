//! `squeeze`: axes of size one removed, derived from `reshape`.

use super::derived::{distinct_axes, judged};
use super::reshape;
use crate::prelude::*;

/// Some axes of size one removed; all that are known to have size one, if none are named.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[1, 2, 1])?;
/// assert_eq!(squeeze(&x, &[-1])?.ty().to_string(), "f64[1, 2]");
/// assert_eq!(squeeze(&x, &[])?.ty().to_string(), "f64[2]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn squeeze(x: &Var, axes: &[i64]) -> Result<Var> {
    let _line = at(scope::user_line());
    let dims = judged("squeeze", &[x], |types| {
        let dims = types[0].dims();
        let removed = distinct_axes(axes, dims.len())?;
        if let Some(&axis) = removed.iter().find(|&&axis| dims[axis] != Dim::size(1)) {
            return Err(Error::shape(format!("axis {axis} has the size {}, not 1", dims[axis]))
                .remedy(
                    "only axes of size 1 can be removed: take a position of it, or reduce it",
                ));
        }
        let stays = |axis: usize| match axes.is_empty() {
            true => dims[axis] != Dim::size(1),
            false => !removed.contains(&axis),
        };
        Ok((0..dims.len()).filter(|&axis| stays(axis)).map(|axis| dims[axis]).collect::<Vec<_>>())
    })?;
    reshape(x, &dims)
}
