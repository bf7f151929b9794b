//! `hinge_embedding_loss`: distances of pairs that should be near, or far.

use super::reduction::{Reduction, alike, reduced};
use super::stable::{number, positive};
use crate::prelude::*;
use crate::{ne, where_};

options! {
    /// Options of [`hinge_embedding_loss`].
    pub struct HingeEmbeddingLossOptions {
        /// What becomes of the losses of single elements.
        pub reduction: Reduction = Reduction::Mean,
        /// From which distance on pairs are far enough.
        pub margin: f64 = 1.0,
    }
}

/// `input` where the target is 1, `max(0, margin - input)` where it is -1, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[0.25, 0.25], &[2])?, Var::of(&[1.0, -1.0], &[2])?);
/// let options = HingeEmbeddingLossOptions::default().reduction(Reduction::None);
/// assert_eq!(hinge_embedding_loss(&x, &y, options)?.to_vec::<f64>()?, [0.25, 0.75]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hinge_embedding_loss(
    input: &Var,
    target: &Var,
    options: HingeEmbeddingLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("hinge_embedding_loss", &[input, target])?;
    let zero = zeros_like(input)?;
    let near = where_(&ne(target, &number(-1.0, target)?)?, input, &zero)?;
    let missing = positive(&(options.margin - input))?;
    let far = where_(&ne(target, &number(1.0, target)?)?, &missing, &zero)?;
    reduced(&add(&near, &far)?, options.reduction)
}
