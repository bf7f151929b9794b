//! `sequence_enumerate`: the numbers that follow each one.

use super::rows::on_one_axis;
use super::sequence_windows::sequence_windows;
use crate::prelude::*;

/// For each number of a sequence of numbers, itself and those that follow it, `window` in all:
/// `[rows, window]`. Beyond the end stands `pad_value`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1i64, 2, 3], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let y = sequence_enumerate(&x, &lengths, 2, 0)?;
/// assert_eq!(y.to_vec::<i64>()?, [1, 2, 2, 0, 3, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_enumerate(x: &Var, lengths: &Var, window: usize, pad_value: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let x = on_one_axis("sequence_enumerate", x)?;
    sequence_windows(&x, lengths, 0, window, Some(&Var::scalar(pad_value)))
}
