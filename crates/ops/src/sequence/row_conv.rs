//! `row_conv`: each row with those that follow it, weighted by element.

use super::sequence_windows::sequence_windows;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::sum;

/// For each row the sum of itself and the rows that follow in its sequence, each times its row of `weight`,
/// `[ahead + 1, width]`: a convolution that looks ahead, element by element.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3, 1])?, Var::of(&[2i64, 1], &[2])?);
/// let y = row_conv(&x, &lengths, &Var::of(&[1.0, 10.0], &[2, 1])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [21.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn row_conv(x: &Var, lengths: &Var, weight: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let size = judged("row_conv", &[x, weight], |types| {
        let fits =
            types[0].rank() == 2 && types[1].rank() == 2 && types[0].dim(1) == types[1].dim(1);
        match fits {
            true => known_size(types[1].dim(0)),
            false => Err(Error::shape(format!(
                "expected rows [rows, width] and weights [ahead + 1, width], found {} and {}",
                types[0], types[1]
            ))),
        }
    })?;
    let windows = sequence_windows(x, lengths, 0, size, None)?;
    sum(&mul(&windows, weight)?, &[1], false)
}
