//! `sequence_erase`: sequences of numbers without some of them.

use super::rows::{Rows, on_one_axis};
use crate::prelude::*;
use crate::{index_add, logical_and, ne, split_rows};

/// The sequences without the numbers `tokens`: rows, in order, and lengths.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1i64, 0, 3], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let (rows, lengths) = sequence_erase(&x, &lengths, &[0, 3])?;
/// assert_eq!(rows.to_vec::<i64>()?, [1]);
/// assert_eq!(lengths.to_vec::<i64>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_erase(x: &Var, lengths: &Var, tokens: &[i64]) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let x = on_one_axis("sequence_erase", x)?;
    let mut keep = fill(1.0, &Type::new(DType::Bool, &x.dims())?)?;
    for &token in tokens {
        keep = logical_and(&keep, &ne(&x, &Var::scalar(token))?)?;
    }
    kept("sequence_erase", &x, lengths, &keep)
}

/// The rows that `keep` holds for, and how many each sequence has of them.
#[track_caller]
pub(super) fn kept(name: &str, x: &Var, lengths: &Var, keep: &Var) -> Result<(Var, Var)> {
    let rows = Rows::of(name, x, lengths)?;
    let counts = index_add(&cast(keep, DType::I64)?, &rows.ids, 0, rows.sequences)?;
    Ok((split_rows(keep, x)?.0, counts))
}
