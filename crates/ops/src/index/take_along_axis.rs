//! `take_along_axis`: elements chosen along an axis, derived from `gather`.

use super::along::{FlatAlong, flat_along};
use super::gather;
use crate::prelude::*;
use crate::shape::reshape;

/// Elements chosen along an axis, as in numpy: each position in `index` says which element of the
/// axis is taken there, and the other axes of `x` and `index` are broadcast together. It turns what
/// `argmax` and `argsort` give into values. Negative positions count from the back.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = take_along_axis(&x, &Var::of(&[1i64, 0], &[2, 1])?, 1)?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn take_along_axis(x: &Var, index: &Var, axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let FlatAlong { x, index, dims, .. } = flat_along("take_along_axis", x, axis, index)?;
    reshape(&gather(&x, &index, 0)?, &dims)
}
