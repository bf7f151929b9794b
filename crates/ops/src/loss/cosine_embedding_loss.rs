//! `cosine_embedding_loss`: angles of pairs that should be alike, or not.

use super::reduction::{Reduction, floats, reduced};
use super::stable::{number, positive};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{eq, sqrt, sum, where_};

options! {
    /// Options of [`cosine_embedding_loss`].
    pub struct CosineEmbeddingLossOptions {
        /// What becomes of the losses of single pairs.
        pub reduction: Reduction = Reduction::Mean,
        /// Up to which cosine pairs are unlike enough.
        pub margin: f64 = 0.0,
    }
}

/// For the vectors in the last axis: `1 - cos` where the target is 1, `max(0, cos - margin)` where
/// it is -1, reduced. The target has the axes before the last.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[1.0, 0.0], &[1, 2])?, Var::of(&[0.0, 1.0], &[1, 2])?);
/// let y = Var::of(&[1.0], &[1])?;
/// let loss = cosine_embedding_loss(&a, &b, &y, CosineEmbeddingLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cosine_embedding_loss(
    first: &Var,
    second: &Var,
    target: &Var,
    options: CosineEmbeddingLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (first, second, target) =
        (&precision.of(first)?, &precision.of(second)?, &precision.of(target)?);
    judged("cosine_embedding_loss", &[first, second, target], |types| {
        floats(&types[..2])?;
        let dims = types[0].dims();
        let fits = !dims.is_empty()
            && types[1].dims() == dims
            && types[2].dims() == &dims[..dims.len() - 1];
        match fits {
            true => Ok(()),
            false => Err(Error::shape("expected [.., n], [.., n] and a target [..]")),
        }
    })?;
    let product = |a: &Var, b: &Var| sum(&mul(a, b)?, &[-1], false);
    let square = |x: &Var| Ok(product(x, x)? + 1e-12);
    let lengths = sqrt(&(square(first)? * square(second)?))?;
    let cosine = div(&product(first, second)?, &lengths)?;
    let is = |value: f64| eq(target, &number(value, target)?);
    let zero = zeros_like(&cosine)?;
    let alike = where_(&is(1.0)?, &(1.0 - &cosine), &zero)?;
    let unlike = where_(&is(-1.0)?, &positive(&(&cosine - options.margin))?, &zero)?;
    reduced(&add(&alike, &unlike)?, options.reduction)
}
