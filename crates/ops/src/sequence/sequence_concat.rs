//! `sequence_concat`: sequences joined one by one.

use super::rows::{has_rows, is_lengths, starts};
use super::sequence_ranges::sequence_ranges;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{concat, dim_size, gather, reshape, stack};

/// Each sequence of the first part, followed by the one with the same number of the second, and so on: rows
/// and lengths. `parts` are the rows, `lengths` the lengths of each part, equally many sequences.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, of_a) = (Var::of(&[1.0, 2.0, 3.0], &[3])?, Var::of(&[2i64, 1], &[2])?);
/// let (b, of_b) = (Var::of(&[7.0, 8.0], &[2])?, Var::of(&[1i64, 1], &[2])?);
/// let (rows, lengths) = sequence_concat(&[&a, &b], &[&of_a, &of_b])?;
/// assert_eq!(rows.to_vec::<f64>()?, [1.0, 2.0, 7.0, 3.0, 8.0]);
/// assert_eq!(lengths.to_vec::<i64>()?, [3, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_concat(parts: &[&Var], lengths: &[&Var]) -> Result<(Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    if parts.is_empty() || parts.len() != lengths.len() {
        return Err(Error::argument(format!(
            "{} parts with {} tensors of lengths",
            parts.len(),
            lengths.len()
        ))
        .remedy("give at least one part, and the lengths of each")
        .in_op("sequence_concat", &[])
        .at(loc));
    }
    let all: Vec<&Var> = parts.iter().chain(lengths).copied().collect();
    judged("sequence_concat", &all, |types| {
        let (parts, lengths) = types.split_at(parts.len());
        parts.iter().try_for_each(has_rows)?;
        for ty in lengths {
            is_lengths(ty)?;
            if ty.dims() != lengths[0].dims() {
                return Err(Error::shape(format!(
                    "all parts have equally many sequences, not {} and {}",
                    lengths[0].dim(0),
                    ty.dim(0)
                )));
            }
        }
        Ok(())
    })?;
    let mut rows = Dim::size(0);
    let mut firsts = Vec::new();
    for (part, lengths) in parts.iter().zip(lengths) {
        firsts.push(add(&starts(lengths)?, &dim_size(rows, DType::I64)?)?);
        rows = rows.add(part.ty().dim(0))?;
    }
    let sequences = lengths[0].ty().dim(0);
    let ranges = [sequences.mul(Dim::size(parts.len()))?];
    let beside = |parts: &[&Var]| reshape(&stack(parts, 1)?, &ranges);
    let (firsts, each) = (beside(&firsts.iter().collect::<Vec<_>>())?, beside(lengths)?);
    let (_, index) = sequence_ranges(&firsts, &zeros_like(&each)?, &each, &each, Some(rows))?;
    let mut sums = lengths[0].clone();
    for more in &lengths[1..] {
        sums = add(&sums, more)?;
    }
    Ok((gather(&concat(parts, 0)?, &index, 0)?, sums))
}
