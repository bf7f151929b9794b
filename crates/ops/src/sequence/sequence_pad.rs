//! `sequence_pad`: sequences beside each other, as long as the longest.

use super::rows::{has_rows, is_lengths, pad_row};
use super::sequence_pad_index::sequence_pad_index;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{concat, gather};

/// The sequences along a first axis, `[sequences, steps, ..]`, filled up at their ends with `value` (zero if
/// not given), a number or a row. `steps` is the length of the longest one if not given.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let y = sequence_pad(&x, &lengths, Some(&Var::scalar(9.0)), None)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 3.0, 9.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_pad(
    x: &Var,
    lengths: &Var,
    value: Option<&Var>,
    steps: Option<usize>,
) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("sequence_pad", &[x, lengths], |types| {
        has_rows(&types[0])?;
        is_lengths(&types[1])
    })?;
    let index = sequence_pad_index(lengths, x.ty().dim(0), steps.map(Dim::size), false)?;
    let zero = Var::scalar(0.0f32);
    let behind = pad_row(x, value.unwrap_or(&zero))?;
    gather(&concat(&[x, &behind], 0)?, &index, 0)
}
