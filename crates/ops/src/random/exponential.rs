//! `exponential`: waiting times, derived from `uniform`.

use super::bernoulli::wide;
use super::uniform;
use crate::prelude::*;
use crate::unary::log;

/// Floats of an exponential distribution: waiting times whose mean is `scale`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = exponential(&Type::of(DType::F32, &[5])?, 2.0)?;
/// assert!(x.to_vec::<f32>()?.iter().all(|&x| x >= 0.0 && x.is_finite()));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn exponential(ty: &Type, scale: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(Error::argument(format!("{scale} is not a mean waiting time"))
            .in_op("exponential", &[])
            .at(loc));
    }
    let unit = uniform(&ty.with_dtype(wide(ty)), 0.0, 1.0)?;
    cast(&(log(&(1.0 - unit))? * -scale), ty.dtype())
}
