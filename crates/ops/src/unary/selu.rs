//! `selu`: an exponential linear unit that normalises.

use super::ELU;
use crate::prelude::*;

/// The slope for positive numbers.
const SCALE: f64 = 1.0507009873554804934193349852946;
/// The limit for negative numbers, before it is scaled.
const ALPHA: f64 = 1.6732632423543772848170429916717;

/// The [`elu`](crate::elu) of alpha 1.6733, times 1.0507: so chosen that means and variances stay
/// what they are from layer to layer. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = selu(&Var::scalar(1.0f64))?;
/// assert_eq!(y.item::<f64>()?, 1.0507009873554805);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn selu(x: &Var) -> Result<Var> {
    bind1(ELU.with(&[SCALE * ALPHA, SCALE, 1.0]), &[x])
}
