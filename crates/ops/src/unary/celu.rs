//! `celu`: an exponential linear unit without a kink.

use super::ELU;
use crate::prelude::*;

/// `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`, whose slope is 1 at zero.
/// Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = celu(&Var::scalar(f64::NEG_INFINITY), 1.5)?;
/// assert_eq!(y.item::<f64>()?, -1.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn celu(x: &Var, alpha: f64) -> Result<Var> {
    if alpha == 0.0 {
        let error = Error::argument("`celu` divides by alpha, which is zero");
        return Err(error.remedy("`relu` is its limit").at(scope::user_line()));
    }
    bind1(ELU.with(&[alpha, 1.0, alpha]), &[x])
}
