//! `sequence_reverse`: the last row of each sequence first.

use super::rows::Rows;
use crate::gather;
use crate::prelude::*;

/// The rows of each sequence in reverse order; the sequences stay where they are.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// assert_eq!(sequence_reverse(&x, &lengths)?.to_vec::<f64>()?, [2.0, 1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_reverse(x: &Var, lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_reverse", x, lengths)?;
    let last = rows.starts_of_rows()? + rows.lengths_of_rows()? - Var::scalar(1i64);
    gather(x, &(last - &rows.positions), 0)
}
