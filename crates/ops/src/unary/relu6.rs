//! `relu6`: the positive part, at most six.

use super::clip;
use crate::prelude::*;

/// `clip(x, 0, 6)`. Its derivative at the kinks is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = relu6(&Var::scalar(8.0f64))?;
/// assert_eq!(y.item::<f64>()?, 6.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn relu6(x: &Var) -> Result<Var> {
    clip(x, Some(0.0), Some(6.0))
}
