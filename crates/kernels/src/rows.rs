//! Choosing and placing rows and slices by number.

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch_compute};
use smallvec::SmallVec;

use crate::copy::{bytes, bytes_mut, check_axis, concat};
use crate::lanes::{Parts, fill_chunks, run_tasks, vectorized_for};
use crate::reduce::accumulator;
use crate::scalar::compute::Compute;
use crate::strided::View;

/// Elements that are added at once.
const BLOCK: usize = 1024;

/// Elements of a result that a task owns at least.
const OWNED: usize = 1 << 15;

/// The rows of `x`, its slices along axis 0, at the given positions and in their order.
pub fn take_rows(x: &Tensor, rows: &[usize]) -> Result<Tensor> {
    check_axis(x, 0)?;
    let n = x.dims()[0];
    if let Some(&row) = rows.iter().find(|&&row| row >= n) {
        return Err(Error::index(format!("row {row} is out of range for {n} rows")));
    }
    copy_slices(x, 0, rows, &with_rows(x, rows.len()))
}

/// The rows of `x` where `mask`, a bool vector, is true, and those where it is false.
pub fn split_rows(mask: &Tensor, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let mask = mask_values(mask)?;
    check_axis(x, 0)?;
    if x.dims()[0] != mask.len() {
        let (rows, len) = (x.dims()[0], mask.len());
        return Err(Error::shape(format!("a mask of {len} elements for {rows} rows")));
    }
    let rows = |wanted: bool| -> Vec<usize> {
        (0..mask.len()).filter(|&row| mask[row] == wanted).collect()
    };
    Ok((take_rows(x, &rows(true))?, take_rows(x, &rows(false))?))
}

/// The inverse of [`split_rows`]: rows of `a` where `mask` is true and of `b` where it is false, each in
/// their order.
pub fn merge_rows(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let mask = mask_values(mask)?;
    check_axis(a, 0)?;
    check_axis(b, 0)?;
    if a.dtype() != b.dtype() {
        let (a, b) = (a.dtype(), b.dtype());
        return Err(Error::dtype(format!("rows of {a} and {b} cannot be merged")));
    }
    if a.dims()[1..] != b.dims()[1..] {
        let (a, b) = (a.dims(), b.dims());
        return Err(Error::shape(format!("rows of shapes {a:?} and {b:?} cannot be merged")));
    }
    let n_true = mask.iter().filter(|&&value| value).count();
    if (n_true, mask.len() - n_true) != (a.dims()[0], b.dims()[0]) {
        return Err(Error::shape(format!(
            "a mask with {n_true} of {} elements true for {} and {} rows",
            mask.len(),
            a.dims()[0],
            b.dims()[0]
        )));
    }
    let mut out = Tensor::empty(a.dtype(), &with_rows(a, mask.len()))?;
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    let (a, b) = (bytes(&a)?, bytes(&b)?);
    let row = out.numel().checked_div(mask.len()).unwrap_or_default() * out.dtype().size();
    if row == 0 {
        return Ok(out);
    }
    let (mut from_a, mut from_b) = (a.chunks_exact(row), b.chunks_exact(row));
    for (to, &first) in bytes_mut(&mut out)?.chunks_exact_mut(row).zip(&mask) {
        let from = if first { from_a.next() } else { from_b.next() };
        to.copy_from_slice(from.unwrap_or_default());
    }
    Ok(out)
}

/// The slices of `x` along `axis` at the positions in `index`, an i64 tensor of any shape, which takes
/// the place of the axis. Negative positions count from the end; others out of range are an error.
pub fn gather(x: &Tensor, axis: usize, index: &Tensor) -> Result<Tensor> {
    check_axis(x, axis)?;
    let positions = positions(index, axis, x.dims()[axis])?;
    copy_slices(x, axis, &positions, &gathered_dims(x.dims(), axis, index))
}

/// The slices of `x` along `axis` at these positions, in the shape `dims`.
fn copy_slices(x: &Tensor, axis: usize, positions: &[usize], dims: &[usize]) -> Result<Tensor> {
    let (n, size) = (x.dims()[axis], x.dtype().size());
    // Of a view only the slices that are needed are brought together.
    if !x.is_contiguous() && positions.len() < n / 4 && !positions.is_empty() {
        let slices: Vec<Tensor> =
            positions.iter().map(|&at| x.slice(axis, at, 1, 1)).collect::<Result<_>>()?;
        return concat(&slices.iter().collect::<Vec<_>>(), axis)?.reshape(dims);
    }
    let mut out = Tensor::empty(x.dtype(), dims)?;
    if out.numel() == 0 {
        return Ok(out);
    }
    let x = x.contiguous()?;
    let slice = x.dims()[axis + 1..].iter().product::<usize>() * size;
    let (from, to) = (bytes(&x)?, bytes_mut(&mut out)?);
    match slice {
        1 => copy_words::<u8>(from, n, positions, to)?,
        2 => copy_words::<u16>(from, n, positions, to)?,
        4 => copy_words::<u32>(from, n, positions, to)?,
        8 => copy_words::<u64>(from, n, positions, to)?,
        16 => copy_words::<[u64; 2]>(from, n, positions, to)?,
        _ => {
            let count = positions.len();
            fill_chunks(to, (OWNED / slice).max(1) * slice, |first, out| {
                for (i, to) in out.chunks_exact_mut(slice).enumerate() {
                    let row = first / slice + i;
                    let start = (row / count * n + positions[row % count]) * slice;
                    to.copy_from_slice(&from[start..start + slice]);
                }
                Ok(())
            })?;
        }
    }
    Ok(out)
}

/// Copies slices that are as large as `W`.
fn copy_words<W: Copy + Send + Sync>(
    from: &[u8],
    n: usize,
    positions: &[usize],
    to: &mut [u8],
) -> Result<()> {
    // SAFETY: all bits are valid for the types this is called with, whose alignment that of tensors is
    // a multiple of.
    let (from, to) = unsafe { (from.align_to::<W>().1, to.align_to_mut::<W>().1) };
    let count = positions.len();
    fill_chunks(to, OWNED, |first, out| {
        let (mut slab, mut at) = (first / count, first % count);
        for to in out {
            *to = from[slab * n + positions[at]];
            at += 1;
            if at == count {
                (slab, at) = (slab + 1, 0);
            }
        }
        Ok(())
    })
}

/// The adjoint of [`gather`]: zeros of shape `dims`, to which the slices of `updates` are added at the
/// positions in `index`, one after the other. Half floats are added in `f32`.
pub fn index_add(dims: &[usize], axis: usize, index: &Tensor, updates: &Tensor) -> Result<Tensor> {
    let dtype = updates.dtype();
    let mut out = Tensor::empty(accumulator(dtype, dtype), dims)?;
    check_axis(&out, axis)?;
    let positions = positions(index, axis, dims[axis])?;
    let expected = gathered_dims(dims, axis, index);
    if updates.dims() != expected.as_slice() {
        return Err(Error::shape(format!(
            "updates of shape {:?} where {:?} was expected",
            updates.dims(),
            expected.as_slice()
        )));
    }
    if out.numel() > 0 {
        dispatch_compute!(out.dtype(), C => {
            add_slices::<C>(out.as_mut_slice()?, dims, axis, &positions, updates)?;
        });
    }
    out.cast(dtype)
}

/// Each task owns a range of rows of the result: it goes through all updates and adds its own ones, so
/// their order is kept.
fn add_slices<C: Compute>(
    out: &mut [C],
    dims: &[usize],
    axis: usize,
    positions: &[usize],
    updates: &Tensor,
) -> Result<()> {
    let inner: usize = dims[axis + 1..].iter().product();
    let n = dims[axis];
    // Enough work for a task, also beside the search for its updates.
    let range = n.div_ceil(32).max((OWNED / inner).max(1)).min(n);
    let ranges = n.div_ceil(range);
    let out = Parts::new(out);
    run_tasks(out.len() / (n * inner) * ranges, |task| {
        let (slab, first) = (task / ranges, task % ranges * range);
        let owned = first..n.min(first + range);
        let place = (slab * n + owned.start) * inner..(slab * n + owned.end) * inner;
        // SAFETY: each row belongs to one task.
        let out = unsafe { out.get(place) };
        out.fill(C::default());
        let view = View::new(updates);
        let mut buffer = [C::default(); BLOCK];
        vectorized_for::<C, _>(
            #[inline(always)]
            || {
                for (i, position) in positions.iter().enumerate() {
                    if !owned.contains(position) {
                        continue;
                    }
                    let mut update = (slab * positions.len() + i) * inner;
                    for part in out[(position - owned.start) * inner..][..inner].chunks_mut(BLOCK) {
                        let values = view.read(update..update + part.len(), &mut buffer);
                        part.iter_mut()
                            .zip(values)
                            .for_each(|(sum, &value)| *sum = sum.plus(value));
                        update += part.len();
                    }
                }
            },
        );
        Ok(())
    })
}

/// The dims of `x` with another number of rows.
fn with_rows(x: &Tensor, n: usize) -> SmallVec<[usize; 8]> {
    let mut dims: SmallVec<[usize; 8]> = x.dims().into();
    dims[0] = n;
    dims
}

/// The dims with those of `index` in place of the axis.
pub(crate) fn gathered_dims(dims: &[usize], axis: usize, index: &Tensor) -> SmallVec<[usize; 8]> {
    [&dims[..axis], index.dims(), &dims[axis + 1..]].into_iter().flatten().copied().collect()
}

fn mask_values(mask: &Tensor) -> Result<Vec<bool>> {
    if mask.dtype() != DType::Bool || mask.rank() != 1 {
        return Err(Error::argument(format!("a mask must be a bool vector, not {}", mask.ty())));
    }
    mask.to_vec::<bool>()
}

/// The positions in `index` as numbers from 0 to `n`.
pub(crate) fn positions(index: &Tensor, axis: usize, n: usize) -> Result<Vec<usize>> {
    if index.dtype() != DType::I64 {
        return Err(Error::dtype(format!("an index must be i64, not {}", index.dtype()))
            .remedy("cast it to i64"));
    }
    let position = |position: i64| {
        let from_start =
            if position < 0 { position.checked_add_unsigned(n as u64)? } else { position };
        usize::try_from(from_start).ok().filter(|&position| position < n)
    };
    let index = index.to_vec::<i64>()?;
    index
        .into_iter()
        .map(|i| {
            position(i).ok_or_else(|| {
                Error::index(format!("index {i} is out of range for axis {axis} of size {n}"))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn split_and_merge_are_inverse() {
        let mut rng = Rng::new(15);
        for dtype in DType::ALL {
            for dims in [&[6][..], &[6, 3], &[6, 2, 2], &[6, 0], &[0, 2]] {
                let x = rng.tensor(dtype, dims);
                let x = rng.scramble(&x);
                let mask: Vec<bool> = (0..dims[0]).map(|_| rng.below(2) == 0).collect();
                let n_true = mask.iter().filter(|&&value| value).count();
                let mask = Tensor::from_vec(mask, &dims[..1]).unwrap();
                let (a, b) = split_rows(&mask, &x).unwrap();
                assert_eq!((a.dims()[0], b.dims()[0]), (n_true, dims[0] - n_true));
                assert!(merge_rows(&mask, &rng.scramble(&a), &b).unwrap().bitwise_eq(&x));
            }
        }
    }

    #[test]
    fn take_rows_by_number() {
        let x = Tensor::from_slice(&[0i32, 1, 2, 3, 4, 5], &[3, 2]).unwrap();
        let got = take_rows(&x, &[2, 0, 2]).unwrap();
        assert_eq!(got.to_vec::<i32>().unwrap(), [4, 5, 0, 1, 4, 5]);
        assert_eq!(take_rows(&x, &[]).unwrap().dims(), [0, 2]);
        let error = take_rows(&x, &[3]).unwrap_err();
        assert_eq!(error.message(), "row 3 is out of range for 3 rows");
        assert!(take_rows(&Tensor::scalar(1i32), &[0]).is_err());
    }

    #[test]
    fn gather_is_take() {
        let mut rng = Rng::new(16);
        for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_stored()) {
            for (dims, axis) in [(&[5][..], 0), (&[2, 5, 3], 1), (&[5, 0], 0), (&[2, 5], 1)] {
                let x = rng.tensor(dtype, dims);
                let x = rng.scramble(&x);
                for index_dims in [&[][..], &[4], &[2, 3], &[0]] {
                    let count = index_dims.iter().product();
                    let index: Vec<i64> = (0..count).map(|_| rng.below(10) as i64 - 5).collect();
                    let index_tensor = Tensor::from_slice(&index, index_dims).unwrap();
                    let got = gather(&x, axis, &index_tensor).unwrap();
                    let want = gathered_dims(dims, axis, &index_tensor);
                    assert_eq!(got.dims(), want.as_slice());
                    let mut flat = dims.to_vec();
                    flat[axis] = count;
                    let flat = got.reshape(&flat).unwrap();
                    for (at, &position) in index.iter().enumerate() {
                        let want = x.index(axis, position.rem_euclid(5) as usize).unwrap();
                        assert!(flat.index(axis, at).unwrap().bitwise_eq(&want));
                    }
                }
            }
        }
    }

    #[test]
    fn index_add_is_the_adjoint_of_gather() {
        let mut rng = Rng::new(17);
        for (dims, axis) in [(&[5][..], 0), (&[2, 5, 3], 1), (&[2, 5], 1), (&[5, 2000], 0)] {
            let x = rng.tensor(DType::F64, dims);
            let index = Tensor::from_slice(&[0i64, -1, 3, 0, 0, 2], &[2, 3]).unwrap();
            let gathered = gather(&x, axis, &index).unwrap();
            let updates = rng.tensor(DType::F64, gathered.dims());
            let added = index_add(dims, axis, &index, &rng.scramble(&updates)).unwrap();
            let dot = |a: &Tensor, b: &Tensor| -> f64 {
                a.to_f64s().into_iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
            };
            assert_eq!(dot(&gathered, &updates), dot(&x, &added));
        }
        let zeros = Tensor::zeros(DType::I64, &[3000]).unwrap();
        let ones = Tensor::full(&[3000], half::bf16::ONE).unwrap();
        let sum = index_add(&[1], 0, &zeros, &ones).unwrap();
        assert_eq!((sum.dtype(), sum.item::<f64>().unwrap()), (DType::BF16, 3008.0));
    }

    #[test]
    fn many_updates_are_added_in_their_order_on_any_number_of_threads() {
        let mut rng = Rng::new(18);
        let positions: Vec<i64> = (0..5000).map(|_| rng.below(700) as i64 - 350).collect();
        let index = Tensor::from_slice(&positions, &[5000]).unwrap();
        let values: Vec<f32> = (0..5000 * 65).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
        let updates = Tensor::from_slice(&values, &[5000, 65]).unwrap();
        let mut want = vec![0.0f32; 700 * 65];
        for (i, value) in values.iter().enumerate() {
            want[positions[i / 65].rem_euclid(700) as usize * 65 + i % 65] += value;
        }
        for threads in [1, 2, 3, 8] {
            crate::threads::set_count(threads);
            let found = index_add(&[700, 65], 0, &index, &updates).unwrap();
            assert_eq!(found.to_vec::<f32>().unwrap(), want);
            let rows = gather(&found, 0, &index).unwrap().to_vec::<f32>().unwrap();
            let row = positions[4321].rem_euclid(700) as usize;
            assert_eq!(rows[4321 * 65..4322 * 65], want[row * 65..(row + 1) * 65]);
        }
    }

    #[test]
    fn faults() {
        let x = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
        let index = Tensor::from_slice(&[0i64, 3], &[2]).unwrap();
        let error = gather(&x, 1, &index).unwrap_err();
        assert_eq!(error.message(), "index 3 is out of range for axis 1 of size 3");
        let low = Tensor::scalar(i64::MIN);
        assert!(gather(&x, 1, &low).is_err());
        assert!(gather(&x, 1, &x).is_err());
        assert!(gather(&x, 2, &index).is_err());
        assert!(index_add(&[2, 4], 1, &index, &x).is_err());
        assert!(index_add(&[], 0, &index, &x).is_err());
        let mask = Tensor::from_slice(&[true, false], &[2]).unwrap();
        assert!(split_rows(&x, &x).is_err());
        assert!(split_rows(&mask, &Tensor::scalar(1.0f32)).is_err());
        assert!(split_rows(&mask, &Tensor::zeros(DType::F32, &[3]).unwrap()).is_err());
        assert!(merge_rows(&mask, &x, &x).is_err());
        let row = Tensor::zeros(DType::F32, &[1, 3]).unwrap();
        assert!(merge_rows(&mask, &row, &row.cast(DType::F64).unwrap()).is_err());
        assert!(merge_rows(&mask, &row, &Tensor::zeros(DType::F32, &[1, 4]).unwrap()).is_err());
    }
}
