//! `sequence_scatter`: numbers added at places of a matrix, by sequence.

use super::rows::{Rows, on_one_axis};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{scatter_nd_add, stack};

/// `x`, `[sequences, width]`, with `updates[r]` added to row `i`, column `index[r]`, for each row `r` of sequence
/// `i`. `index` and `updates` are `[rows]`, with the same `lengths`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0; 4], &[2, 2])?;
/// let (index, updates) = (Var::of(&[0i64, 1, 1], &[3])?, Var::of(&[1.0, 2.0, 3.0], &[3])?);
/// let y = sequence_scatter(&x, &index, &updates, &Var::of(&[2i64, 1], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 0.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_scatter(x: &Var, index: &Var, updates: &Var, lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let index = on_one_axis("sequence_scatter", index)?;
    let updates = on_one_axis("sequence_scatter", updates)?;
    let rows = Rows::of("sequence_scatter", &updates, lengths)?;
    judged("sequence_scatter", &[x, lengths], |types| {
        match types[0].rank() == 2 && types[0].dim(0) == types[1].dim(0) {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "expected a matrix with a row for each sequence, found {} and lengths {}",
                types[0], types[1]
            ))),
        }
    })?;
    scatter_nd_add(x, &stack(&[&rows.ids, &index], 1)?, &updates)
}
