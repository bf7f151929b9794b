//! What the functions of sequences share: rows, where they lie, and what stands in the place of missing ones.

use super::sequence_ids;
use crate::prelude::*;
use crate::scans::cumsum;
use crate::shape::derived::judged;
use crate::{concat, eq, gather, iota, reshape, where_};

/// Refuses what is not a tensor of lengths.
pub(super) fn is_lengths(ty: &Type) -> Result<()> {
    match ty.dtype() == DType::I64 && ty.rank() == 1 && !ty.is_list() {
        true => Ok(()),
        false => Err(Error::shape(format!("lengths are i64[sequences], found {ty}"))
            .remedy("give the number of rows of each sequence, as integers on one axis")),
    }
}

/// Refuses what is not a tensor of rows.
pub(super) fn has_rows(ty: &Type) -> Result<()> {
    match ty.rank() > 0 && !ty.is_list() {
        true => Ok(()),
        false => Err(Error::shape(format!("expected the rows of sequences, found {ty}"))
            .remedy("the first axis goes through the rows of all sequences, one after another")),
    }
}

/// The lengths that an op was given, and that they add up to `rows`, if it says so.
pub(super) fn lengths_of(value: &Value, rows: Option<usize>) -> Result<Vec<usize>> {
    let mut lengths = Vec::new();
    for (i, length) in value.tensor()?.to_vec::<i64>()?.into_iter().enumerate() {
        lengths.push(usize::try_from(length).map_err(|_| {
            Error::argument(format!("sequence {i} has the length {length}"))
                .remedy("lengths are zero or more")
        })?);
    }
    let found = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
    let told = || found.map_or("more than there can be".to_string(), |sum| sum.to_string());
    match rows {
        Some(rows) if found != Some(rows) => Err(Error::argument(format!(
            "the lengths of {} sequences add up to {}, but there are {rows} rows",
            lengths.len(),
            told()
        ))
        .remedy("each row belongs to one sequence")),
        _ => Ok(lengths),
    }
}

/// The rows of sequences and their places.
pub(super) struct Rows {
    /// The number of rows.
    pub count: Dim,
    /// The number of sequences.
    pub sequences: Dim,
    /// How many rows each sequence has.
    pub lengths: Var,
    /// The first row of each sequence.
    pub starts: Var,
    /// The sequence of each row.
    pub ids: Var,
    /// The place of each row in its sequence.
    pub positions: Var,
}

impl Rows {
    /// The places of the rows of `x`. Errors name the function `name`.
    #[track_caller]
    pub fn of(name: &str, x: &Var, lengths: &Var) -> Result<Rows> {
        judged(name, &[x, lengths], |types| {
            has_rows(&types[0])?;
            is_lengths(&types[1])
        })?;
        let (count, sequences) = (x.ty().dim(0), lengths.ty().dim(0));
        let ids = sequence_ids(lengths, count)?;
        let starts = starts(lengths)?;
        let positions = sub(&iota(count, DType::I64)?, &gather(&starts, &ids, 0)?)?;
        Ok(Rows { count, sequences, lengths: lengths.clone(), starts, ids, positions })
    }

    /// For each row, the length of its sequence.
    #[track_caller]
    pub fn lengths_of_rows(&self) -> Result<Var> {
        gather(&self.lengths, &self.ids, 0)
    }

    /// For each row, the first row of its sequence.
    #[track_caller]
    pub fn starts_of_rows(&self) -> Result<Var> {
        gather(&self.starts, &self.ids, 0)
    }

    /// Which sequences have no rows.
    #[track_caller]
    pub fn is_empty(&self) -> Result<Var> {
        eq(&self.lengths, &Var::scalar(0i64))
    }

    /// These rows, or, for sequences without rows, one behind the last: see [`with_row`].
    #[track_caller]
    pub fn or_behind(&self, index: &Var) -> Result<Var> {
        where_(&self.is_empty()?, &crate::dim_size(self.count, DType::I64)?, index)
    }
}

/// The first row of each sequence.
#[track_caller]
pub(super) fn starts(lengths: &Var) -> Result<Var> {
    sub(&cumsum(lengths, 0)?, lengths)
}

/// `x` with one more row behind its own, in which each element is `value`.
#[track_caller]
pub(super) fn with_row(x: &Var, value: Number) -> Result<Var> {
    let mut dims = x.dims();
    dims[0] = Dim::size(1);
    concat(&[x, &fill(value, &Type::new(x.dtype(), &dims)?)?], 0)
}

/// A value of each sequence or row, with axes of size one behind it, as many as `x` has behind its rows.
#[track_caller]
pub(super) fn beside(value: &Var, x: &Var) -> Result<Var> {
    let mut dims = value.dims();
    dims.truncate(1);
    dims.resize(x.ty().rank(), Dim::size(1));
    reshape(value, &dims)
}

/// Numbers of rows as one axis: `[rows]`, or `[rows, 1]` as Fluid has them.
#[track_caller]
pub(super) fn on_one_axis(name: &str, x: &Var) -> Result<Var> {
    let rows = judged(name, &[x], |types| {
        has_rows(&types[0])?;
        match types[0].dims()[1..].iter().all(|&dim| dim == Dim::size(1)) {
            true => Ok(types[0].dim(0)),
            false => Err(Error::shape(format!("expected one number a row, found {}", types[0]))),
        }
    })?;
    reshape(x, &[rows])
}

/// The row that stands in the place of missing ones: `value`, spread over the axes of a row of `x`.
#[track_caller]
pub(super) fn pad_row(x: &Var, value: &Var) -> Result<Var> {
    let mut dims = x.dims();
    dims[0] = Dim::size(1);
    let value = cast(value, x.dtype())?;
    // Fluid's padding has one element on one axis.
    let value = match value.ty().dims() {
        [one] if *one == Dim::size(1) => reshape(&value, &[])?,
        _ => value,
    };
    crate::broadcast_to(&value, &dims)
}
