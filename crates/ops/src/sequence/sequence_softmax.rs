//! `sequence_softmax`: shares within each sequence.

use super::rows::Rows;
use super::sequence_pool::{SequencePoolOptions, SequencePooling, sequence_pool};
use crate::prelude::*;
use crate::{exp, gather, index_add};

/// The softmax over the rows of each sequence, for each element of a row: shares that add up to one in every
/// sequence. `x` is `[rows, ..]`; `lengths`, `i64[sequences]`, says how many rows each sequence has.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = sequence_softmax(&Var::of(&[1.0, 1.0, 7.0], &[3])?, &Var::of(&[2i64, 1], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [0.5, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_softmax(x: &Var, lengths: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("sequence_softmax", x, lengths)?;
    let greatest = SequencePoolOptions::default().pool(SequencePooling::Max);
    let greatest = sequence_pool(&stop_gradient(x)?, lengths, greatest)?;
    let powers = exp(&sub(x, &gather(&greatest, &rows.ids, 0)?)?)?;
    let sums = index_add(&powers, &rows.ids, 0, rows.sequences)?;
    div(&powers, &gather(&sums, &rows.ids, 0)?)
}
