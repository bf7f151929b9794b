//! `sequence_take`: whole sequences by number.

use super::rows::{has_rows, is_lengths, starts};
use super::sequence_ranges::sequence_ranges;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{gather, repeat_index};

/// The sequences with these numbers, in this order: their rows and their lengths. A sequence may be taken
/// several times; negative numbers count from the back. How many rows there are is known only when it runs.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let (rows, lengths) = sequence_take(&x, &lengths, &Var::of(&[1i64, 0], &[2])?)?;
/// assert_eq!(rows.to_vec::<f64>()?, [3.0, 1.0, 2.0]);
/// assert_eq!(lengths.to_vec::<i64>()?, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_take(x: &Var, lengths: &Var, index: &Var) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    judged("sequence_take", &[x, lengths, index], |types| {
        has_rows(&types[0])?;
        is_lengths(&types[1])?;
        match types[2].rank() {
            1 => Ok(()),
            _ => Err(Error::shape(format!("numbers of sequences have one axis, not {}", types[2]))),
        }
    })?;
    let taken = gather(lengths, index, 0)?;
    let first = gather(&starts(lengths)?, index, 0)?;
    let (_, rows) = sequence_ranges(&first, &zeros_like(&taken)?, &taken, &taken, None)?;
    Ok((gather(x, &rows, 0)?, taken))
}

/// Each sequence as often as `counts` says, one copy behind another: rows and lengths.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let (rows, lengths) = sequence_expand(&x, &lengths, &Var::of(&[2i64, 0], &[2])?)?;
/// assert_eq!(rows.to_vec::<f64>()?, [1.0, 2.0, 1.0, 2.0]);
/// assert_eq!(lengths.to_vec::<i64>()?, [2, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_expand(x: &Var, lengths: &Var, counts: &Var) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    judged("sequence_expand", &[lengths, counts], |types| {
        is_lengths(&types[0])?;
        is_lengths(&types[1])?;
        match types[0].dims() == types[1].dims() {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "there is one count for each sequence, but {} stands beside {}",
                types[1], types[0]
            ))),
        }
    })?;
    sequence_take(x, lengths, &repeat_index(counts)?)
}
