//! `relu6`: the positive part, at most six.

use super::hard_tanh;
use crate::prelude::*;

/// `clip(x, 0, 6)`. Its derivative at the kinks is zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = relu6(&Var::scalar(8.0f64))?;
/// assert_eq!(y.item::<f64>()?, 6.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn relu6(x: &Var) -> Result<Var> {
    hard_tanh(x, 0.0, 6.0)
}
