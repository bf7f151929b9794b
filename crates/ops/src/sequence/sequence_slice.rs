//! `sequence_slice`: a part of each sequence.

use super::rows::{has_rows, is_lengths, on_one_axis, starts};
use super::sequence_ranges::sequence_ranges;
use crate::gather;
use crate::prelude::*;
use crate::shape::derived::judged;

/// Of each sequence `i`, `length[i]` rows from row `offset[i]` on; they must lie within the sequence. The
/// lengths of the result are `length`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let (offset, length) = (Var::of(&[1i64, 0], &[2])?, Var::of(&[1i64, 1], &[2])?);
/// assert_eq!(sequence_slice(&x, &lengths, &offset, &length)?.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_slice(x: &Var, lengths: &Var, offset: &Var, length: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("sequence_slice", &[x, lengths], |types| {
        has_rows(&types[0])?;
        is_lengths(&types[1])
    })?;
    let offset = on_one_axis("sequence_slice", offset)?;
    let length = on_one_axis("sequence_slice", length)?;
    let (_, index) = sequence_ranges(&starts(lengths)?, &offset, &length, lengths, None)?;
    gather(x, &index, 0)
}
