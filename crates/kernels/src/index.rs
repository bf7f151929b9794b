//! Positions of elements: computed from others, found, and written at.

use std::collections::HashSet;

use fluvial_tensor::{DType, Element, Error, Result, Tensor, dispatch, dispatch_compute, memory};

use crate::copy::check_axis;
use crate::reduce::{Reduce, accumulator};
use crate::rows::{gathered_dims, positions};
use crate::scalar::compute::Compute;
use crate::strided::View;

/// The numbers, in row-major order, of the elements of a tensor of shape `dims` whose position on
/// axis `i` is `indices[i]`; the indices are broadcast to the shape `out`. Negative positions count
/// from the back; others out of range are an error that names the axis as `axes[i]`.
pub fn ravel_index(
    indices: &[&Tensor],
    dims: &[usize],
    axes: &[usize],
    out: &[usize],
) -> Result<Tensor> {
    if indices.len() != dims.len() || axes.len() != dims.len() {
        let (n, m) = (indices.len(), dims.len());
        return Err(Error::argument(format!("{n} indices for {m} axes")));
    }
    let mut flat = Tensor::zeros(DType::I64, out)?;
    let numbers = flat.as_mut_slice::<i64>()?;
    for ((&index, &size), &axis) in indices.iter().zip(dims).zip(axes) {
        let checked = positions(index, axis, size)?;
        let checked = memory::collected(checked.into_iter().map(|position| position as i64))?;
        let checked = Tensor::from_vec(checked, index.dims())?.expand(out)?.to_vec::<i64>()?;
        for (number, position) in numbers.iter_mut().zip(checked) {
            let next = number.checked_mul(size as i64).and_then(|all| all.checked_add(position));
            *number = next.ok_or_else(too_many)?;
        }
    }
    Ok(flat)
}

/// The numbers, in row-major order, of elements of a tensor that has the shape of `index` but for
/// the size `size` of one axis: of those whose position on that axis is in `index`.
pub fn along_index(index: &Tensor, axis: usize, size: usize) -> Result<Tensor> {
    check_axis(index, axis)?;
    let positions = positions(index, axis, size)?;
    let (n, inner) = (index.dims()[axis], index.dims()[axis + 1..].iter().product::<usize>());
    let number = |(element, position): (usize, usize)| {
        let (outer, within) = (element / (n * inner), element % inner);
        let row = outer.checked_mul(size)?.checked_add(position)?;
        i64::try_from(row.checked_mul(inner)?.checked_add(within)?).ok()
    };
    let numbers: Option<Vec<i64>> = positions.into_iter().enumerate().map(number).collect();
    Tensor::from_vec(numbers.ok_or_else(too_many)?, index.dims())
}

#[cold]
fn too_many() -> Error {
    Error::shape("there are too many elements to number them")
}

/// Writes the slices of `updates` into `x` along `axis` at the positions in `index`, one after the other. If
/// others see the memory of `x`, it is copied first. If it fails nothing has changed.
pub fn index_put(x: &mut Tensor, axis: usize, index: &Tensor, updates: &Tensor) -> Result<()> {
    check_axis(x, axis)?;
    let dims = x.dims().to_vec();
    let expected = gathered_dims(&dims, axis, index);
    if updates.dims() != expected.as_slice() || updates.dtype() != x.dtype() {
        return Err(Error::shape(format!(
            "updates {} where {} of shape {:?} was expected",
            updates.ty(),
            x.dtype(),
            expected.as_slice()
        )));
    }
    let positions = positions(index, axis, dims[axis])?;
    if updates.numel() > 0 {
        dispatch!(x.dtype(), T => {
            put_slices::<T>(x.as_mut_slice()?, &dims, axis, &positions, &View::new(updates));
        });
    }
    Ok(())
}

fn put_slices<T: Element>(
    out: &mut [T],
    dims: &[usize],
    axis: usize,
    positions: &[usize],
    updates: &View<'_>,
) {
    let inner: usize = dims[axis + 1..].iter().product();
    let mut update = 0;
    for out in out.chunks_exact_mut(dims[axis] * inner) {
        for &position in positions {
            updates.copy_to(update, &mut out[position * inner..][..inner]);
            update += inner;
        }
    }
}

/// `x` with the slices of `updates` combined with what is there along `axis` at the positions in
/// `index`, one after the other: multiplied, or the greater or smaller one. Half floats are combined
/// in `f32`.
pub fn index_fold(
    kind: Reduce,
    x: &Tensor,
    axis: usize,
    index: &Tensor,
    updates: &Tensor,
) -> Result<Tensor> {
    check_axis(x, axis)?;
    let (dims, dtype) = (x.dims().to_vec(), x.dtype());
    let expected = gathered_dims(&dims, axis, index);
    if updates.dims() != expected.as_slice() {
        return Err(Error::shape(format!(
            "updates of shape {:?} where {:?} was expected",
            updates.dims(),
            expected.as_slice()
        )));
    }
    let positions = positions(index, axis, dims[axis])?;
    let mut out = x.cast(accumulator(dtype, dtype))?;
    if updates.numel() > 0 {
        dispatch_compute!(out.dtype(), C => {
            let inner: usize = dims[axis + 1..].iter().product();
            let mut values = memory::filled(C::default(), updates.numel())?;
            View::new(updates).copy_to(0, &mut values);
            let outs = out.as_mut_slice::<C>()?.chunks_exact_mut(dims[axis] * inner);
            let per_outer = values.chunks_exact(positions.len() * inner);
            for (out, values) in outs.zip(per_outer) {
                for (&position, values) in positions.iter().zip(values.chunks_exact(inner)) {
                    let targets = &mut out[position * inner..][..inner];
                    for (target, &value) in targets.iter_mut().zip(values) {
                        *target = combine(kind, *target, value);
                    }
                }
            }
        });
    }
    out.cast(dtype)
}

fn combine<C: Compute>(kind: Reduce, a: C, b: C) -> C {
    match kind {
        Reduce::Max => a.larger(b),
        Reduce::Min => a.smaller(b),
        Reduce::Prod => a.times(b),
        _ => a.plus(b),
    }
}

/// The number of each element in row-major order.
pub fn element_numbers(dims: &[usize]) -> Result<Tensor> {
    let mut numbers = Tensor::empty(DType::I64, dims)?;
    let places = numbers.as_mut_slice::<i64>()?.iter_mut().zip(0..);
    places.for_each(|(place, number)| *place = number);
    Ok(numbers)
}

/// For each position in `index`, on an axis of size `n`, whether no later one is the same.
pub fn last_writes(index: &Tensor, n: usize) -> Result<Tensor> {
    let positions = positions(index, 0, n)?;
    let mut seen = HashSet::with_capacity(positions.len());
    let mut last = memory::filled(false, positions.len())?;
    for (last, &position) in last.iter_mut().zip(&positions).rev() {
        *last = seen.insert(position);
    }
    Tensor::from_vec(last, index.dims())
}

/// The positions of the elements other than zero, in row-major order: one row each, one column per
/// axis.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let is_nonzero: Vec<bool> = x.cast(DType::Bool)?.to_vec()?;
    let n_found = is_nonzero.iter().filter(|&&found| found).count();
    let mut rows = memory::reserved(n_found.saturating_mul(x.rank()))?;
    for (mut number, _) in is_nonzero.iter().enumerate().filter(|(_, found)| **found) {
        let first = rows.len();
        for &size in x.dims().iter().rev() {
            rows.push((number % size) as i64);
            number /= size;
        }
        rows[first..].reverse();
    }
    Tensor::from_vec(rows, &[n_found, x.rank()])
}

/// Each number `i` as often as `counts[i]` says.
pub fn repeat_index(counts: &Tensor) -> Result<Tensor> {
    let mut numbers = Vec::new();
    for (i, count) in counts.to_vec::<i64>()?.into_iter().enumerate() {
        let Ok(count) = usize::try_from(count) else {
            return Err(Error::argument(format!("count {i} is {count}, a negative number")));
        };
        numbers.try_reserve(count).map_err(|_| {
            Error::shape(format!("repeating {count} times takes more memory than there is"))
        })?;
        numbers.extend(std::iter::repeat_n(i as i64, count));
    }
    let len = numbers.len();
    Tensor::from_vec(numbers, &[len])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i64s(values: &[i64], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    #[test]
    fn numbers_of_elements() {
        let (rows, columns) = (i64s(&[0, -1], &[2, 1]), i64s(&[2, 0], &[2]));
        let flat = ravel_index(&[&rows, &columns], &[2, 3], &[0, 1], &[2, 2]).unwrap();
        assert_eq!(flat.to_vec::<i64>().unwrap(), [2, 0, 5, 3]);
        let error = ravel_index(&[&columns], &[2], &[4], &[2]).unwrap_err();
        assert_eq!(error.message(), "index 2 is out of range for axis 4 of size 2");
        let along = along_index(&i64s(&[1, 0, 2, -1], &[2, 2]), 0, 3).unwrap();
        assert_eq!(along.to_vec::<i64>().unwrap(), [2, 1, 4, 5]);
        let along = along_index(&i64s(&[1, 0, 2, -1], &[2, 2]), 1, 3).unwrap();
        assert_eq!(along.to_vec::<i64>().unwrap(), [1, 0, 5, 5]);
    }

    #[test]
    fn later_writes_win() {
        let x = i64s(&[1, 2, 3], &[3]);
        let index = i64s(&[0, 2, 0], &[3]);
        let mut put = x.clone();
        index_put(&mut put, 0, &index, &i64s(&[7, 8, 9], &[3])).unwrap();
        assert_eq!(put.to_vec::<i64>().unwrap(), [9, 2, 8]);
        assert_eq!(x.to_vec::<i64>().unwrap(), [1, 2, 3]);
        let last = last_writes(&index, 3).unwrap();
        assert_eq!(last.to_vec::<bool>().unwrap(), [false, true, true]);
        assert!(index_put(&mut put, 0, &index, &i64s(&[7], &[1])).is_err());
        assert!(index_put(&mut put, 1, &index, &x).is_err());
        let place = put.data_ptr();
        index_put(&mut put, 0, &index, &i64s(&[4, 5, 6], &[3])).unwrap();
        assert_eq!((put.data_ptr(), put.to_vec::<i64>().unwrap()), (place, vec![6, 2, 5]));
    }

    #[test]
    fn found_positions() {
        let x = Tensor::from_slice(&[0.0f32, 1.0, f32::NAN, 0.0], &[2, 2]).unwrap();
        let found = nonzero(&x).unwrap();
        assert_eq!(found.dims(), [2, 2]);
        assert_eq!(found.to_vec::<i64>().unwrap(), [0, 1, 1, 0]);
        assert_eq!(nonzero(&Tensor::scalar(2.0f64)).unwrap().dims(), [1, 0]);
        let repeated = repeat_index(&i64s(&[2, 0, 1], &[3])).unwrap();
        assert_eq!(repeated.to_vec::<i64>().unwrap(), [0, 0, 2]);
        assert!(repeat_index(&i64s(&[-1], &[1])).is_err());
    }
}
