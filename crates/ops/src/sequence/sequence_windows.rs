//! `sequence_windows`: the neighbours of each row within its sequence.

use super::rows::{Rows, pad_row};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{concat, dim_size, gather, ge, iota, logical_and, lt, reshape, where_};

/// For each row the `size` rows of its sequence from the one `start` places on: `[rows, size, ..]`. Where the
/// sequence has none, each element is `value` (zero if not given), or a row of it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let windows = sequence_windows(&x, &lengths, -1, 2, None)?;
/// assert_eq!(windows.to_vec::<f64>()?, [0.0, 1.0, 1.0, 2.0, 0.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_windows(
    x: &Var,
    lengths: &Var,
    start: i64,
    size: usize,
    value: Option<&Var>,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_windows", x, lengths)?;
    let zero = Var::scalar(0.0f32);
    let behind = pad_row(x, value.unwrap_or(&zero))?;
    let windows = Windows::of(&rows, start, size)?;
    let index = where_(&windows.inside()?, &windows.row, &dim_size(rows.count, DType::I64)?)?;
    gather(&concat(&[x, &behind], 0)?, &index, 0)
}

/// [`sequence_windows`] in which rows of `padding` stand before and behind each sequence: as many before
/// as windows reach back, then as many as they reach ahead.
#[track_caller]
pub(super) fn windows_with(
    x: &Var,
    lengths: &Var,
    start: i64,
    size: usize,
    padding: &Var,
) -> Result<Var> {
    let rows = Rows::of("sequence_conv", x, lengths)?;
    let before = (-start).max(0);
    let after = (start + size as i64 - 1).max(0);
    judged("sequence_conv", &[x, padding], |types| {
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(types[0].dims());
        dims[0] = Dim::size((before + after) as usize);
        match types[1].dims() == &dims[..] {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "the padding is {}, but windows of {size} rows from {start} on need {before} rows \
                 before and {after} behind a sequence",
                types[1]
            ))),
        }
    })?;
    let windows = Windows::of(&rows, start, size)?;
    let first = dim_size(rows.count, DType::I64)? + Var::scalar(before);
    let behind = &first + &windows.at - &windows.length;
    let outside = where_(&lt(&windows.at, &Var::scalar(0i64))?, &(&first + &windows.at), &behind)?;
    let index = where_(&windows.inside()?, &windows.row, &outside)?;
    gather(&concat(&[x, padding], 0)?, &index, 0)
}

/// The places of windows, `[rows, size]`.
struct Windows {
    /// The place in the sequence.
    at: Var,
    /// The number of the row.
    row: Var,
    /// The length of the sequence, `[rows, 1]`.
    length: Var,
}

impl Windows {
    fn of(rows: &Rows, start: i64, size: usize) -> Result<Windows> {
        let column = |x: &Var| reshape(x, &[rows.count, Dim::size(1)]);
        let steps = add(&iota(Dim::size(size), DType::I64)?, &Var::scalar(start))?;
        let at = add(&column(&rows.positions)?, &steps)?;
        let row = add(&column(&rows.starts_of_rows()?)?, &at)?;
        Ok(Windows { at, row, length: column(&rows.lengths_of_rows()?)? })
    }

    fn inside(&self) -> Result<Var> {
        logical_and(&ge(&self.at, &Var::scalar(0i64))?, &lt(&self.at, &self.length)?)
    }
}
