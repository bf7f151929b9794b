//! What functions of matrices share: the sizes of the last two axes, and turning them.

use crate::prelude::*;
use crate::{abs, cumsum, eq, ge, logical_and, max, reshape, sum, transpose, where_};

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
    match ty.dtype().is_inexact() {
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

/// The same with conjugates of complex numbers.
#[track_caller]
pub(super) fn adjoint(x: &Var) -> Result<Var> {
    conj(&transposed(x)?)
}

/// What cotangents of complex vectors, the columns, get besides, as the first large component of each is held real and
/// positive. Turned by an angle, a vector would change what depends on it as `turn` says: the sum of the imaginary parts of
/// its elements times the conjugates of their cotangents. So much the component must not turn.
#[track_caller]
pub(super) fn held(vectors: &Var, turn: &Var) -> Result<Var> {
    let sizes = abs(vectors)?;
    let is_large = ge(&sizes, &(max(&sizes, &[-2], true)? * 0.9))?;
    let counted = cumsum(&cast(&is_large, sizes.dtype())?, -2)?;
    let is_lead = logical_and(&is_large, &eq(&counted, &sizes.literal(1.0))?)?;
    let size = where_(&is_lead, &sizes, &sizes.literal(1.0))?;
    let share = where_(&is_lead, &div(turn, &size)?, &sizes.literal(0.0))?;
    mul(&share, &vectors.imaginary_unit())
}

/// The sum over rows of the imaginary parts of elements times the conjugates of their cotangents.
#[track_caller]
pub(super) fn turn(vectors: &Var, cotangents: &Var) -> Result<Var> {
    imag(&sum(&mul(vectors, &conj(cotangents)?)?, &[-2], true)?)
}

/// Where the matrices of a batch begin, in C.
pub(super) static BATCH: Source =
    Source { name: "batch", text: include_str!("batch.c"), needs: &[] };

/// How far apart the matrices of an operand lie along the axes of a batch, if each has so many elements; nowhere along
/// axes that the operand is repeated along.
pub(super) fn batch_steps(own: &[Dim], batch: &[Dim], each: Dim) -> Result<SmallVec<[Dim; 8]>> {
    let extra = batch.len() - own.len();
    let own_steps = kernel::distances(own)?;
    let step = |axis: usize| match axis.checked_sub(extra) {
        Some(i) if own[i] == batch[axis] => own_steps[i].mul(each),
        _ => Ok(Dim::size(0)),
    };
    (0..batch.len()).map(step).collect()
}

/// What a function in C takes of equations `a x = b`: operands, solution, and the batch with sizes of a matrix.
pub(super) fn equations(a: &Type, b: &Type, solution: &Type) -> Result<Vec<Arg>> {
    let dtype = solution.dtype();
    let ((n, _), (_, k)) = (matrix_sizes(a)?, matrix_sizes(b)?);
    let leading = |ty: &Type| SmallVec::<[Dim; 8]>::from_slice(&ty.dims()[..ty.rank() - 2]);
    let batch = leading(solution);
    Ok(vec![
        Arg::As(0, dtype),
        Arg::As(1, dtype),
        Arg::Out(0),
        Arg::Int(batch.len() as i64),
        Arg::Sizes(batch.clone()),
        Arg::Sizes(batch_steps(&leading(a), &batch, n.mul(n)?)?),
        Arg::Sizes(batch_steps(&leading(b), &batch, n.mul(k)?)?),
        Arg::Size(n),
        Arg::Size(k),
    ])
}

/// What a function in C takes of matrices one behind the other: input, outputs, and their number.
pub(super) fn one_by_one(x: &Type, n_outputs: usize) -> Result<Vec<Arg>> {
    let count = Arg::Size(kernel::count(&x.dims()[..x.rank() - 2])?);
    let outputs = (0..n_outputs).map(Arg::Out);
    Ok([Arg::In(0)].into_iter().chain(outputs).chain([count]).collect())
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

/// The average of the matrices and their transposes, of complex numbers with conjugates.
#[track_caller]
pub(super) fn symmetric_part(x: &Var) -> Result<Var> {
    ((x + adjoint(x)?) * 0.5).check()
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
