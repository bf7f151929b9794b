//! `sequence_offsets`: where sequences begin and end.

use super::rows::is_lengths;
use crate::prelude::*;
use crate::scans::cumsum;
use crate::shape::derived::judged;
use crate::{concat, slice};

/// The first row of each sequence, and the one behind the last row of all: `i64[sequences + 1]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let offsets = sequence_offsets(&Var::of(&[2i64, 0, 1], &[3])?)?;
/// assert_eq!(offsets.to_vec::<i64>()?, [0, 2, 2, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_offsets(lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("sequence_offsets", &[lengths], |types| is_lengths(&types[0]))?;
    concat(&[&Var::of(&[0i64], &[1])?, &cumsum(lengths, 0)?], 0)
}

/// The inverse of [`sequence_offsets`]: how many rows lie between each offset and the next.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let lengths = sequence_lengths(&Var::of(&[0i64, 2, 2, 3], &[4])?)?;
/// assert_eq!(lengths.to_vec::<i64>()?, [2, 0, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_lengths(offsets: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("sequence_lengths", &[offsets], |types| {
        let ty = &types[0];
        match ty.dtype() == DType::I64 && ty.rank() == 1 && ty.dim(0) != Dim::size(0) {
            true => Ok(()),
            false => Err(Error::shape(format!("offsets are i64[sequences + 1], found {ty}"))),
        }
    })?;
    let (later, earlier) =
        (slice(offsets, 0, Some(1), None, 1)?, slice(offsets, 0, None, Some(-1), 1)?);
    sub(&later, &earlier)
}
