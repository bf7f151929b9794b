//! `embedding`: rows of a table by number.

use crate::index::gather;
use crate::prelude::*;
use crate::{dim_size, eq, gt, index_add, logical_and, lt, norm, reshape, where_};

options! {
    /// How rows are looked up.
    pub struct EmbeddingOptions {
        /// The number whose row gets no gradient; negative ones count from the back.
        pub padding_idx: Option<i64> = None,
        /// Rows with a larger norm are scaled down to this one.
        pub max_norm: Option<f64> = None,
        /// The p of that norm.
        pub norm_type: f64 = 2.0,
    }
}

/// The rows of `weight`, which is `[count, width]`, at the numbers `ids`, which are `i64` of any shape:
/// `[.., width]`. Negative numbers count from the back.
///
/// With `max_norm`, longer rows are scaled down. PyTorch changes the table itself; here a value never
/// changes, so the rows returned are scaled and the table is not: a layer that keeps it as state
/// assigns [`renormalise_rows`] of it, and looks up in that. Gradients reach the table unscaled, as in
/// PyTorch.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let table = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let ids = Var::of(&[1i64, 0, 1], &[3])?;
/// let rows = embedding(&ids, &table, EmbeddingOptions::default())?;
/// assert_eq!(rows.to_vec::<f64>()?, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn embedding(ids: &Var, weight: &Var, options: EmbeddingOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (ids, weight) = (ids.clone().check()?, weight.clone().check()?);
    let blame = |error: Error| error.in_op("embedding", &[&ids.ty(), &weight.ty()]).at(loc);
    is_table(&ids.ty(), &weight.ty()).map_err(blame)?;
    let mut rows = gather(&weight, &ids, 0)?;
    if let Some(max_norm) = options.max_norm {
        is_norm(max_norm, options.norm_type).map_err(blame)?;
        let found = stop_gradient(&rows)?;
        let (_, scale) = excess(&found, max_norm, options.norm_type)?;
        rows = add(&rows, &stop_gradient(&(&found * &scale - &found))?)?;
    }
    let Some(padding) = options.padding_idx else { return Ok(rows) };
    if let Some(count) = weight.ty().dim(0).value() {
        axis(padding, count).map_err(|_| {
            blame(Error::index(format!("the padding's number {padding} is none of {count} rows")))
        })?;
    }
    let count = dim_size(weight.ty().dim(0), DType::I64)?;
    let from_front = |id: &Var| where_(&lt(id, &Var::scalar(0i64))?, &(id + &count), id);
    let is_padding = eq(&from_front(&ids)?, &from_front(&Var::scalar(padding))?)?;
    where_(&with_last_axis(&is_padding)?, &stop_gradient(&rows)?, &rows)
}

/// The table `weight` with those of the rows `ids` whose norm exceeds `max_norm` scaled down to it: what
/// PyTorch's `max_norm` makes of the table. A constant: no gradient passes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let table = Var::of(&[3.0, 4.0, 30.0, 40.0], &[2, 2])?;
/// let short = renormalise_rows(&table, &Var::of(&[0i64, 0], &[2])?, 1.0, 2.0)?;
/// assert!((short.to_vec::<f64>()?[0] - 0.6).abs() < 1e-6);
/// assert_eq!(short.to_vec::<f64>()?[2..], [30.0, 40.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn renormalise_rows(weight: &Var, ids: &Var, max_norm: f64, norm_type: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (ids, weight) = (ids.clone().check()?, weight.clone().check()?);
    is_table(&ids.ty(), &weight.ty())
        .and_then(|()| is_norm(max_norm, norm_type))
        .map_err(|error| error.in_op("renormalise_rows", &[&weight.ty(), &ids.ty()]).at(loc))?;
    let weight = stop_gradient(&weight)?;
    let ones = fill(1.0, &Type::new(DType::F32, ids.ty().dims())?)?;
    let uses = index_add(&ones, &ids, 0, weight.ty().dim(0))?;
    let is_used = with_last_axis(&gt(&uses, &Var::scalar(0.0f32))?)?;
    let (exceeds, scale) = excess(&weight, max_norm, norm_type)?;
    where_(&logical_and(&is_used, &exceeds)?, &(&weight * &scale), &weight)
}

/// Which rows are longer than `max_norm`, and the factors that shorten them (one for the others).
fn excess(rows: &Var, max_norm: f64, norm_type: f64) -> Result<(Var, Var)> {
    let number = |number: f64| fill(number, &Type::scalar(rows.dtype()));
    let norm = norm(rows, norm_type, &[-1], true)?;
    let exceeds = gt(&norm, &number(max_norm)?)?;
    let one = number(1.0)?;
    // The small number is PyTorch's: it keeps the shortened row below the limit.
    let scale = where_(&exceeds, &(max_norm / (&norm + 1e-7)), &one)?;
    Ok((exceeds, scale))
}

/// The value with a further axis of size one behind its own.
fn with_last_axis(x: &Var) -> Result<Var> {
    let mut dims = x.dims();
    dims.push(Dim::size(1));
    reshape(x, &dims)
}

fn is_table(ids: &Type, weight: &Type) -> Result<()> {
    if ids.is_list() || ids.dtype() != DType::I64 {
        return Err(Error::dtype(format!("the numbers of rows are i64, found {ids}"))
            .remedy("cast them; the order is ids, then weight"));
    }
    match weight.is_float() && !weight.is_list() && weight.rank() == 2 {
        true => Ok(()),
        false => Err(Error::shape(format!("a table is a matrix of floats, found {weight}"))),
    }
}

fn is_norm(max_norm: f64, norm_type: f64) -> Result<()> {
    match max_norm > 0.0 && norm_type > 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!(
            "a norm above zero with a positive p was expected, not {max_norm} with p {norm_type}"
        ))),
    }
}
