//! `sequence_expand_as`: a row for each sequence, repeated along it.

use super::rows::Rows;
use crate::gather;
use crate::prelude::*;
use crate::shape::derived::judged;

/// Row `i` of `x` in the place of each row of sequence `i` of `like`, whose lengths are `lengths`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (like, lengths) = (Var::of(&[0.0; 3], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let y = sequence_expand_as(&Var::of(&[5.0, 7.0], &[2])?, &like, &lengths)?;
/// assert_eq!(y.to_vec::<f64>()?, [5.0, 5.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_expand_as(x: &Var, like: &Var, lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_expand_as", like, lengths)?;
    judged("sequence_expand_as", &[x, lengths], |types| {
        match types[0].rank() > 0 && types[0].dim(0) == types[1].dim(0) {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "there is one row for each sequence, but {} stands beside lengths {}",
                types[0], types[1]
            ))),
        }
    })?;
    gather(x, &rows.ids, 0)
}
