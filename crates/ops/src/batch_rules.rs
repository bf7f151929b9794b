//! What batching rules share.

use crate::create::iota;
use crate::index::RavelIndex;
use crate::prelude::*;
use crate::shape::{movedim, permute, reshape};

/// One batched output.
pub(crate) fn batch_of(y: Var) -> Result<Option<Outputs>> {
    Ok(Some(smallvec![y]))
}

/// The number of each element of the batch, with `rank` axes of size one behind it.
pub(crate) fn numbers(batch: &Batch<'_>, rank: usize) -> Result<Var> {
    let numbers = iota(batch.size(), DType::I64)?;
    batch.shaped(&numbers, &vec![Dim::size(1); rank])
}

/// Positions among `size`, input `i`, as positions in one axis of all elements of the batch. Each is checked for its own.
pub(crate) fn in_batch(batch: &Batch<'_>, i: usize, size: Dim) -> Result<Var> {
    let index = batch.full(i)?;
    let numbers = numbers(batch, batch.rank(i))?;
    bind1(RavelIndex { dims: vec![batch.size(), size], axes: vec![0, 1] }, &[&numbers, &index])
}

/// The value with an axis moved behind the first one, and both made one.
pub(crate) fn slices_first(x: &Var, axis: usize, to: usize) -> Result<Var> {
    let moved = movedim(x, &[axis as i64], &[to as i64])?;
    let ty = moved.ty();
    let mut dims = vec![ty.dim(0).mul(ty.dim(1))?];
    dims.extend(&ty.dims()[2..]);
    reshape(&moved, &dims)
}

/// The value of axes batch, `n_index`, `n_front`, `n_rest`, with the `n_index` axes behind those in front.
pub(crate) fn axes_between(
    x: &Var,
    first_front: usize,
    n_front: usize,
    n_index: usize,
    n_rest: usize,
) -> Result<Var> {
    let front = first_front..first_front + n_front;
    let rest = first_front + n_front..first_front + n_front + n_rest;
    let order = std::iter::once(0).chain(front).chain(1..=n_index).chain(rest);
    permute(x, &order.map(|axis| axis as i64).collect::<Vec<_>>())
}

/// `[batch, n, channels, ..]` as `[n, batch * channels, ..]`.
pub(crate) fn channels_first(x: &Var) -> Result<Var> {
    slices_of(&movedim(x, &[0], &[1])?, 1)
}

/// The value with the axes `at` and `at + 1` made one.
fn slices_of(x: &Var, at: usize) -> Result<Var> {
    let ty = x.ty();
    let mut dims = ty.dims()[..at].to_vec();
    dims.push(ty.dim(at).mul(ty.dim(at + 1))?);
    dims.extend(&ty.dims()[at + 2..]);
    reshape(x, &dims)
}

/// An op of an input with rows, of which the batch makes more, and of a weight for all of them.
pub(crate) fn folded_in_first(
    batch: &Batch<'_>,
    op: impl Fn(&Var, &Var) -> Result<Var>,
) -> Result<Option<Outputs>> {
    let y = op(&slices_of(batch.given(0), 0)?, batch.given(1))?;
    batch_of(batch.shaped(&y, batch.outputs()?[0].dims())?)
}

/// A convolution in which each element of the batch has a weight of its own: more groups.
pub(crate) fn in_groups(
    batch: &Batch<'_>,
    groups: usize,
    op: impl Fn(usize) -> OpRef,
) -> Result<Option<Outputs>> {
    let Some(size) = batch.size().value().filter(|&size| size > 0) else { return Ok(None) };
    let (x, weight) = (channels_first(&batch.full(0)?)?, slices_of(&batch.full(1)?, 0)?);
    let y = bind1(op(groups * size), &[&x, &weight])?;
    let ty = y.ty();
    let channels = batch.outputs()?[0].dim(1);
    let mut dims = vec![ty.dim(0), batch.size(), channels];
    dims.extend(&ty.dims()[2..]);
    batch_of(movedim(&reshape(&y, &dims)?, &[1], &[0])?)
}
