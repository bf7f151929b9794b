//! `linear_chain_crf`: the cost of labels of sequences whose neighbours depend on each other.

use super::rows::{Rows, on_one_axis};
use super::sequence_steps::sequence_scan;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{
    eq, expand, gather, gt, index_add, iota, logsumexp, maximum, narrow, reshape, take_along_axis,
    where_,
};

/// Refuses rows and weights that do not fit; gives the number of tags.
pub(super) fn tags(emission: &Type, transition: &Type) -> Result<Dim> {
    let &[_, tags] = emission.dims() else {
        return Err(Error::shape(format!("expected scores [rows, tags], found {emission}")));
    };
    let fits = emission.is_float()
        && transition.dtype() == emission.dtype()
        && transition.dims() == [tags.add(Dim::size(2))?, tags];
    match fits {
        true => Ok(tags),
        false => Err(Error::shape(format!(
            "for scores {emission} the transitions should be [tags + 2, tags], found {transition}"
        ))
        .remedy("row 0 is for first tags, row 1 for last ones, then one row for each tag")),
    }
}

/// The negative logarithm of the probability of the labels of each sequence, `[sequences, 1]`, in a linear-chain
/// conditional random field. `emission`, `[rows, tags]`, scores the tags of each row; of `transition`,
/// `[tags + 2, tags]`, row 0 scores first tags, row 1 last tags, and row `2 + i` the tags that follow tag `i`.
/// `label` holds a tag for each row. A sequence without rows costs nothing.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (emission, lengths) = (Var::of(&[0.0; 4], &[2, 2])?, Var::of(&[2i64], &[1])?);
/// let transition = Var::of(&[0.0; 8], &[4, 2])?;
/// let cost = linear_chain_crf(&emission, &transition, &Var::of(&[0i64, 1], &[2])?, &lengths)?;
/// // All of the four labellings are equally probable.
/// assert!((cost.to_vec::<f64>()?[0] - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn linear_chain_crf(
    emission: &Var,
    transition: &Var,
    label: &Var,
    lengths: &Var,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let name = "linear_chain_crf";
    let tags = judged(name, &[emission, transition], |types| tags(&types[0], &types[1]))?;
    let rows = Rows::of(name, emission, lengths)?;
    let label = on_one_axis(name, label)?;
    judged(name, &[emission, &label], |types| {
        match types[1].dtype() == DType::I64 && types[1].dim(0) == types[0].dim(0) {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "expected an i64 label for each row of {}, found {}",
                types[0], types[1]
            ))),
        }
    })?;
    let total = log_partition(emission, transition, lengths, tags)?;
    let score = score_of(emission, transition, &label, &rows, tags)?;
    let cost = sub(&total, &score)?;
    let cost = where_(&rows.is_empty()?, &zeros_like(&cost)?, &cost)?;
    reshape(&cost, &[rows.sequences, Dim::size(1)])
}

/// The logarithm of the sum over all labellings of each sequence.
fn log_partition(emission: &Var, transition: &Var, lengths: &Var, tags: Dim) -> Result<Var> {
    let sequences = lengths.ty().dim(0);
    let row = |i: usize| narrow(transition, 0, Dim::size(i), Dim::size(1));
    let (first, last) = (row(0)?, row(1)?);
    let between = narrow(transition, 0, Dim::size(2), tags)?;
    let none = fill(0.0, &Type::new(emission.dtype(), &[sequences, tags])?)?;
    let begins = fill(1.0, &Type::new(DType::Bool, &[sequences, Dim::size(1)])?)?;
    let (carried, _) =
        sequence_scan(&[&none, &begins], &[emission], lengths, false, |carried, slices| {
            let (sums, begins) = (&carried[0], &carried[1]);
            let before = reshape(sums, &[sequences, tags, Dim::size(1)])?;
            let follows = logsumexp(&add(&before, &between)?, &[1], false)?;
            let first = expand(&first, &[sequences, tags])?;
            let next = add(&where_(begins, &first, &follows)?, &slices[0])?;
            Ok((vec![next, zeros_like(begins)?], vec![]))
        })?;
    logsumexp(&add(&carried[0], &last)?, &[1], false)
}

/// The score of the labels of each sequence.
fn score_of(emission: &Var, transition: &Var, label: &Var, rows: &Rows, tags: Dim) -> Result<Var> {
    let column = reshape(label, &[rows.count, Dim::size(1)])?;
    let own = reshape(&take_along_axis(emission, &column, 1)?, &[rows.count])?;
    let flat = reshape(transition, &[tags.add(Dim::size(2))?.mul(tags)?])?;
    let width = crate::dim_size(tags, DType::I64)?;
    let zero = zeros_like(&own)?;
    let scored = |row: &Var, holds: &Var| {
        let score = gather(&flat, &(mul(row, &width)? + label), 0)?;
        where_(holds, &score, &zero)
    };
    let two = Var::scalar(2i64);
    let before = maximum(&(iota(rows.count, DType::I64)? - Var::scalar(1i64)), &Var::scalar(0i64))?;
    let before = gather(label, &before, 0)? + &two;
    let is_last = eq(&(&rows.positions + &Var::scalar(1i64)), &rows.lengths_of_rows()?)?;
    let follows = scored(&before, &gt(&rows.positions, &Var::scalar(0i64))?)?;
    let first = scored(&zeros_like(label)?, &eq(&rows.positions, &Var::scalar(0i64))?)?;
    let one = fill(1.0, &label.ty())?;
    let last = scored(&one, &is_last)?;
    index_add(&(own + follows + first + last), &rows.ids, 0, rows.sequences)
}
