//! What functions of matrices share: the sizes of the last two axes, and turning them.

use crate::prelude::*;
use crate::{reshape, transpose};

/// Rows and columns of the matrices in the last two axes.
pub(super) fn matrix_sizes(ty: &Type) -> Result<(Dim, Dim)> {
    match ty.dims() {
        &[.., rows, columns] if !ty.is_list() => Ok((rows, columns)),
        _ => Err(Error::shape(format!("expected matrices in the last two axes, found {ty}"))),
    }
}

/// The same, of matrices that can be decomposed.
pub(super) fn float_matrices(ty: &Type) -> Result<(Dim, Dim)> {
    let sizes = matrix_sizes(ty)?;
    match ty.is_float() {
        true => Ok(sizes),
        false => Err(Error::dtype(format!("expected floats, found {ty}")).remedy("cast first")),
    }
}

/// The size of matrices that can be decomposed and are square.
pub(super) fn square(ty: &Type) -> Result<Dim> {
    let (rows, columns) = float_matrices(ty)?;
    match rows == columns {
        true => Ok(rows),
        false => Err(Error::shape(format!(
            "expected square matrices, found {rows} rows and {columns} columns"
        ))),
    }
}

/// The lesser of rows and columns.
pub(super) fn lesser(rows: Dim, columns: Dim) -> Result<Dim> {
    match (rows.value(), columns.value()) {
        _ if rows == columns => Ok(rows),
        (Some(rows), Some(columns)) => Ok(Dim::size(rows.min(columns))),
        _ => Err(Error::shape(format!(
            "which of {rows} rows and {columns} columns are fewer is not known here"
        ))
        .remedy("give both sizes, or decompose a square matrix")),
    }
}

/// The type with the last two axes replaced.
pub(super) fn with_matrix(ty: &Type, last: &[Dim]) -> Result<Type> {
    ty.with_dims(&[&ty.dims()[..ty.rank() - 2], last].concat())
}

/// The matrices with rows and columns exchanged.
#[track_caller]
pub(super) fn transposed(x: &Var) -> Result<Var> {
    transpose(x, -2, -1)
}

/// The value with `count` axes of size one more at the end.
#[track_caller]
pub(super) fn with_ones(x: &Var, count: usize) -> Result<Var> {
    let mut dims = x.dims();
    dims.extend(std::iter::repeat_n(Dim::size(1), count));
    reshape(x, &dims)
}

/// The value with an axis of size one before the last.
#[track_caller]
pub(super) fn as_rows(x: &Var) -> Result<Var> {
    let mut dims = x.dims();
    dims.insert(dims.len() - 1, Dim::size(1));
    reshape(x, &dims)
}

/// The average of the matrices and their transposes.
#[track_caller]
pub(super) fn symmetric_part(x: &Var) -> Result<Var> {
    ((x + transposed(x)?) * 0.5).check()
}

/// The error of a derived function, with its name, inputs and line, unless an op has stated its own.
#[cold]
pub(super) fn refuse(error: Error, name: &str, inputs: &[&Var], loc: Loc) -> Error {
    let types: Vec<Type> = inputs.iter().map(|input| input.ty()).collect();
    match error.op_text() {
        None => error.in_op(name, &types.iter().collect::<Vec<_>>()).at(loc),
        Some(_) => error,
    }
}
