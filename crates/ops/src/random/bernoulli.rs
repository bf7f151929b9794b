//! `bernoulli`: tossed coins, derived from `uniform`.

use super::uniform;
use crate::binary::lt;
use crate::prelude::*;
use crate::shape::derived::judged;

/// Ones and zeros of the type of `p`, each a one with the probability in `p`. No gradient passes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = bernoulli(&Var::of(&[0.0, 1.0], &[2])?)?;
/// assert_eq!(x.to_vec::<f64>()?, [0.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bernoulli(p: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let ty = judged("bernoulli", &[p], |ty| is_probability(&ty[0]).map(|()| ty[0]))?;
    cast(&lt(&uniform(&ty.with_dtype(wide(&ty)), 0.0, 1.0)?, p)?, ty.dtype())
}

/// Refuses what are not probabilities.
pub(super) fn is_probability(ty: &Type) -> Result<()> {
    match ty.is_float() {
        true => Ok(()),
        false => Err(Error::dtype(format!("probabilities are floats, found {ty}"))),
    }
}

/// The type to draw in: narrow floats would come in steps that are too large.
pub(super) fn wide(ty: &Type) -> DType {
    ty.dtype().promote(DType::F32)
}
