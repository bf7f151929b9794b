//! `sequence_conv`: a convolution along each sequence, derived from windows and a product.

use super::sequence_windows::{sequence_windows, windows_with};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{matmul, reshape};

options! {
    /// How a convolution goes along sequences.
    pub struct SequenceConvOptions {
        /// How many rows a window has.
        pub size: usize = 3,
        /// Where a window begins, counted from its row; half a window before it if not given.
        pub start: Option<i64> = None,
    }
}

/// A convolution along each sequence: for each row, the `size` rows around it in one line, times `weight`,
/// `[size * width, out]`. Windows do not reach into other sequences: beyond the ends there are zeros, or, if
/// given, the rows of `padding`, `[before + behind, width]`, as many before and behind as windows reach.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3, 1])?, Var::of(&[2i64, 1], &[2])?);
/// let weight = Var::of(&[1.0, 1.0, 1.0], &[3, 1])?;
/// let y = sequence_conv(&x, &lengths, &weight, None, SequenceConvOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_conv(
    x: &Var,
    lengths: &Var,
    weight: &Var,
    padding: Option<&Var>,
    options: SequenceConvOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let SequenceConvOptions { size, start } = options;
    let (rows, width) = judged("sequence_conv", &[x, weight], |types| {
        let (&[rows, width], [in_line, _]) = (types[0].dims(), types[1].dims()) else {
            return Err(Error::shape("expected rows [rows, width] and a matrix of weights"));
        };
        let line = width.mul(Dim::size(size))?;
        match *in_line == line {
            true => Ok((rows, line)),
            false => Err(Error::shape(format!(
                "{size} rows of {} have {line} elements, but the weights are {}",
                types[0], types[1]
            ))),
        }
    })?;
    let start = start.unwrap_or(-(size as i64 / 2));
    let windows = match padding {
        Some(padding) => windows_with(x, lengths, start, size, padding)?,
        None => sequence_windows(x, lengths, start, size, None)?,
    };
    matmul(&reshape(&windows, &[rows, width])?, weight)
}
