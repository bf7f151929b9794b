//! Putting tensors together.

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch, dispatch_compute, memory};
use smallvec::SmallVec;

use crate::lanes::fill_chunks;
use crate::reduce::accumulator;
use crate::scalar::compute::Compute;
use crate::strided::View;

/// Bytes that one task copies.
const CHUNK: usize = 1 << 17;

/// Joins tensors along an existing axis. They have one dtype, and sizes that differ along `axis` only.
pub fn concat(parts: &[&Tensor], axis: usize) -> Result<Tensor> {
    let Some(&first) = parts.first() else {
        return Err(Error::argument("nothing to concatenate"));
    };
    check_axis(first, axis)?;
    let mut dims: SmallVec<[usize; 8]> = first.dims().into();
    dims[axis] = 0;
    for part in parts {
        check_alike(first, part, Some(axis))?;
        let size = part.dims()[axis];
        dims[axis] = dims[axis].checked_add(size).ok_or_else(too_large)?;
    }
    let mut out = Tensor::empty(first.dtype(), &dims)?;
    if out.numel() > 0 {
        let outer: usize = dims[..axis].iter().product();
        let packed: SmallVec<[Tensor; 8]> =
            parts.iter().map(|part| part.contiguous()).collect::<Result<_>>()?;
        let sources =
            packed.iter().map(|part| Ok((Some(bytes(part)?), bytes(part)?.len() / outer)));
        join(&sources.collect::<Result<SmallVec<[_; 8]>>>()?, bytes_mut(&mut out)?)?;
    }
    Ok(out)
}

/// Joins tensors of one type along a new axis.
pub fn stack(parts: &[&Tensor], axis: usize) -> Result<Tensor> {
    let Some(&first) = parts.first() else {
        return Err(Error::argument("nothing to stack"));
    };
    for part in parts {
        check_alike(first, part, None)?;
    }
    let unsqueezed: SmallVec<[Tensor; 8]> =
        parts.iter().map(|part| part.unsqueeze(axis)).collect::<Result<_>>()?;
    concat(&unsqueezed.iter().collect::<SmallVec<[&Tensor; 8]>>(), axis)
}

/// The adjoint of a slice: zeros of shape `dims`, with `x` at the places `start + i * step` of `axis`.
pub fn scatter_slice(
    x: &Tensor,
    dims: &[usize],
    axis: usize,
    start: usize,
    step: isize,
) -> Result<Tensor> {
    check_axis(x, axis)?;
    let n = x.dims()[axis];
    let fits = |(other, (&from, &to)): (usize, (&usize, &usize))| other == axis || from == to;
    if dims.len() != x.rank() || !x.dims().iter().zip(dims).enumerate().all(fits) {
        return Err(Error::shape(format!(
            "shape {:?} is not a slice of {dims:?} along axis {axis}",
            x.dims()
        )));
    }
    if step == 0 {
        return Err(Error::argument("the step of a slice is 0"));
    }
    let last = start as i128 + step as i128 * n.saturating_sub(1) as i128;
    let range = 0..dims[axis] as i128;
    if n > 0 && !(range.contains(&(start as i128)) && range.contains(&last)) {
        return Err(Error::index(format!(
            "{n} elements from {start} with step {step} are out of range for size {}",
            dims[axis]
        )));
    }
    if x.numel() == 0 {
        return Tensor::zeros(x.dtype(), dims);
    }
    let mut out = Tensor::empty(x.dtype(), dims)?;
    let x = x.contiguous()?;
    let row = dims[axis + 1..].iter().product::<usize>() * x.dtype().size();
    if step == 1 {
        let after = dims[axis] - start - n;
        let parts = [(None, start * row), (Some(bytes(&x)?), n * row), (None, after * row)];
        join(&parts, bytes_mut(&mut out)?)?;
        return Ok(out);
    }
    let (x, size) = (bytes(&x)?, dims[axis]);
    let rows_at_once = (CHUNK / row).max(1);
    fill_chunks(bytes_mut(&mut out)?, rows_at_once * row, |first, out| {
        for (i, out) in out.chunks_exact_mut(row).enumerate() {
            let (slab, place) = ((first / row + i) / size, (first / row + i) % size);
            let steps = (place as isize - start as isize) / step;
            let is_taken = steps >= 0
                && (steps as usize) < n
                && start as isize + steps * step == place as isize;
            match is_taken {
                true => out.copy_from_slice(&x[(slab * n + steps as usize) * row..][..row]),
                false => out.fill(0),
            }
        }
        Ok(())
    })?;
    Ok(out)
}

/// The adjoint of a strided view: zeros of shape `dims`, with element `i` of `x` at the place
/// `first + i * strides`, counted in row-major order. Places that coincide are added up if `add`, half
/// floats in `f32`.
pub fn place(
    x: &Tensor,
    dims: &[usize],
    first: usize,
    strides: &[usize],
    add: bool,
) -> Result<Tensor> {
    let dtype = if add { accumulator(x.dtype(), x.dtype()) } else { x.dtype() };
    let mut out = Tensor::zeros(dtype, dims)?;
    if x.numel() == 0 {
        return out.cast(x.dtype());
    }
    let reach =
        x.dims().iter().zip(strides).try_fold(first, |reach, (&n, &stride)| {
            reach.checked_add((n - 1).checked_mul(stride)?)
        });
    if x.rank() != strides.len() || reach.is_none_or(|reach| reach >= out.numel()) {
        return Err(Error::shape(format!(
            "{:?} from {first} in strides {strides:?} does not fit into {dims:?}",
            x.dims()
        )));
    }
    let places = Places::new(x.dims(), first, strides);
    match add {
        true => dispatch_compute!(dtype, C => {
            let mut values = memory::filled(C::default(), x.numel())?;
            View::new(x).copy_to(0, &mut values);
            let out = out.as_mut_slice::<C>()?;
            places.zip(values).for_each(|(at, value)| out[at] = out[at].plus(value));
        }),
        false => dispatch!(dtype, T => {
            let values = x.to_vec::<T>()?;
            let out = out.as_mut_slice::<T>()?;
            places.zip(values).for_each(|(at, value)| out[at] = value);
        }),
    }
    out.cast(x.dtype())
}

/// The places of the elements of a strided view, in row-major order, without an end.
struct Places<'a> {
    dims: &'a [usize],
    strides: &'a [usize],
    counters: SmallVec<[usize; 8]>,
    next: usize,
}

impl Places<'_> {
    fn new<'a>(dims: &'a [usize], first: usize, strides: &'a [usize]) -> Places<'a> {
        Places { dims, strides, counters: SmallVec::from_elem(0, dims.len()), next: first }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let current = self.next;
        for axis in (0..self.dims.len()).rev() {
            self.counters[axis] += 1;
            // A stride that is never taken may be of any length.
            self.next = self.next.wrapping_add(self.strides[axis]);
            if self.counters[axis] < self.dims[axis] {
                break;
            }
            let back = self.strides[axis].wrapping_mul(self.dims[axis]);
            self.next = self.next.wrapping_sub(back);
            self.counters[axis] = 0;
        }
        Some(current)
    }
}

/// Fills rows with the next bytes of each part in turn: so many of each, and zeros for a part that is not
/// given.
fn join(parts: &[(Option<&[u8]>, usize)], out: &mut [u8]) -> Result<()> {
    let mut row_len = 0;
    let ends: SmallVec<[usize; 8]> = parts
        .iter()
        .map(|part| {
            row_len += part.1;
            row_len
        })
        .collect();
    fill_chunks(out, CHUNK, |first, mut out| {
        let mut at = first;
        while !out.is_empty() {
            let (row, column) = (at / row_len, at % row_len);
            let part = ends.partition_point(|&end| end <= column);
            let (source, width) = parts[part];
            let len = out.len().min(ends[part] - column);
            let (to, rest) = std::mem::take(&mut out).split_at_mut(len);
            let from = row * width + column - (ends[part] - width);
            match source {
                Some(source) => to.copy_from_slice(&source[from..from + len]),
                None => to.fill(0),
            }
            (out, at) = (rest, at + len);
        }
        Ok(())
    })
}

/// The memory of a tensor without gaps.
pub(crate) fn bytes(x: &Tensor) -> Result<&[u8]> {
    x.as_bytes().ok_or_else(|| Error::internal("a tensor without gaps has no bytes"))
}

/// The memory of a tensor of its own, to be filled with elements of the same dtype or with zeros.
pub(crate) fn bytes_mut(x: &mut Tensor) -> Result<&mut [u8]> {
    if x.dtype() != DType::Bool {
        return x.as_bytes_mut();
    }
    let truths = x.as_mut_slice::<bool>()?;
    // SAFETY: a bool is a byte, and by the contract only those of bools are written.
    Ok(unsafe { std::slice::from_raw_parts_mut(truths.as_mut_ptr().cast(), truths.len()) })
}

pub(crate) fn check_axis(x: &Tensor, axis: usize) -> Result<()> {
    if axis < x.rank() {
        return Ok(());
    }
    Err(Error::index(format!("axis {axis} is out of range for {} axes", x.rank())))
}

/// Whether two tensors have one dtype and one shape, but for an axis.
fn check_alike(a: &Tensor, b: &Tensor, except: Option<usize>) -> Result<()> {
    if a.dtype() != b.dtype() {
        let (a, b) = (a.dtype(), b.dtype());
        return Err(Error::dtype(format!("tensors of {a} and {b} cannot be joined"))
            .remedy("cast them to one dtype first"));
    }
    let same = |(axis, (a, b)): (usize, (&usize, &usize))| except == Some(axis) || a == b;
    if a.rank() != b.rank() || !a.dims().iter().zip(b.dims()).enumerate().all(same) {
        let axis = except.map(|axis| format!(" along axis {axis}")).unwrap_or_default();
        return Err(Error::shape(format!(
            "shapes {:?} and {:?} cannot be joined{axis}",
            a.dims(),
            b.dims()
        )));
    }
    Ok(())
}

fn too_large() -> Error {
    Error::shape("the joined tensor is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn place_is_the_adjoint_of_a_strided_view() {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let overlapping = place(&x, &[4], 1, &[1, 1], true).unwrap();
        assert_eq!(overlapping.to_vec::<f32>().unwrap(), [0.0, 1.0, 5.0, 4.0]);
        let apart = place(&x, &[2, 3], 0, &[3, 2], false).unwrap();
        assert_eq!(apart.to_vec::<f32>().unwrap(), [1.0, 0.0, 2.0, 3.0, 0.0, 4.0]);
        assert!(place(&x, &[4], 2, &[1, 1], true).is_err());
        assert!(place(&x, &[4], 0, &[1], true).is_err());
        assert!(place(&x, &[4], usize::MAX, &[1, 1], true).is_err());
    }

    #[test]
    fn concat_is_undone_by_slices() {
        let mut rng = Rng::new(12);
        for dtype in DType::ALL {
            for axis in 0..3 {
                let parts: Vec<Tensor> = [2, 0, 3, 1]
                    .into_iter()
                    .map(|size| {
                        let mut dims = [2, 3, 4];
                        dims[axis] = size;
                        let part = rng.tensor(dtype, &dims);
                        rng.scramble(&part)
                    })
                    .collect();
                let joined = concat(&parts.iter().collect::<Vec<_>>(), axis).unwrap();
                assert_eq!(joined.dims()[axis], 6);
                let mut start = 0;
                for part in &parts {
                    let size = part.dims()[axis];
                    assert!(joined.slice(axis, start, size, 1).unwrap().bitwise_eq(part));
                    start += size;
                }
            }
        }
    }

    #[test]
    fn stack_is_undone_by_indexing() {
        let mut rng = Rng::new(13);
        for dims in [&[][..], &[3], &[2, 3], &[0, 2]] {
            let parts = [(); 3].map(|_| rng.tensor(DType::F32, dims));
            for axis in 0..=dims.len() {
                let stacked = stack(&[&parts[0], &parts[1], &parts[2]], axis).unwrap();
                for (i, part) in parts.iter().enumerate() {
                    assert!(stacked.index(axis, i).unwrap().bitwise_eq(part), "{dims:?} {axis}");
                }
            }
        }
    }

    #[test]
    fn scatter_slice_is_the_adjoint_of_slice() {
        let mut rng = Rng::new(14);
        let dims = [3, 7, 2];
        for (axis, start, len, step) in [
            (1, 0, 7, 1),
            (1, 6, 7, -1),
            (1, 1, 3, 2),
            (1, 5, 2, -3),
            (0, 1, 2, 1),
            (2, 1, 1, -5),
            (1, 3, 0, 1),
        ] {
            let x = rng.tensor(DType::F64, &dims);
            let mut part_dims = dims;
            part_dims[axis] = len;
            let part = rng.tensor(DType::F64, &part_dims);
            let scattered = scatter_slice(&rng.scramble(&part), &dims, axis, start, step).unwrap();
            let slice = x.slice(axis, start, len, step).unwrap();
            let dot = |a: &Tensor, b: &Tensor| -> f64 {
                a.to_f64s().into_iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
            };
            assert_eq!(dot(&slice, &part), dot(&x, &scattered));
            assert!(scattered.slice(axis, start, len, step).unwrap().bitwise_eq(&part));
        }
    }

    #[test]
    fn faults() {
        let a = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
        let b = Tensor::zeros(DType::F32, &[2, 4]).unwrap();
        let c = Tensor::zeros(DType::I32, &[2, 3]).unwrap();
        let scalar = Tensor::scalar(1.0f32);
        assert_eq!(concat(&[], 0).unwrap_err().message(), "nothing to concatenate");
        assert_eq!(
            concat(&[&a, &b], 0).unwrap_err().message(),
            "shapes [2, 3] and [2, 4] cannot be joined along axis 0"
        );
        assert_eq!(
            concat(&[&a, &c], 0).unwrap_err().message(),
            "tensors of f32 and i32 cannot be joined"
        );
        assert!(concat(&[&a], 2).is_err());
        assert!(concat(&[&scalar], 0).is_err());
        assert!(stack(&[], 0).is_err());
        assert!(stack(&[&a, &b], 0).is_err());
        assert!(stack(&[&a], 3).is_err());
        assert!(scatter_slice(&a, &[2, 5], 1, 3, 1).is_err());
        assert!(scatter_slice(&a, &[2, 5], 1, 1, -1).is_err());
        assert!(scatter_slice(&a, &[2, 5], 1, 0, 0).is_err());
        assert!(scatter_slice(&a, &[3, 5], 1, 0, 1).is_err());
        assert!(scatter_slice(&a, &[2, 5], 1, usize::MAX, isize::MIN).is_err());
    }

    #[test]
    fn many_bytes_on_any_number_of_threads() {
        let mut rng = Rng::new(25);
        let parts = [3, 1, 500].map(|n| rng.tensor(DType::F16, &[40, n, 7]));
        let x = rng.tensor(DType::F32, &[30, 50, 40]);
        let turn = crate::simd::force(crate::simd::Level::Avx512);
        let make = || {
            let joined = concat(&[&parts[0], &parts[1], &parts[2]], 1).unwrap();
            let apart = scatter_slice(&x, &[30, 160, 40], 1, 2, 3).unwrap();
            let middle = scatter_slice(&x, &[30, 50, 55], 2, 9, 1).unwrap();
            (joined, apart, middle)
        };
        crate::threads::set_count(1);
        let want = make();
        assert!(want.0.slice(1, 4, 500, 1).unwrap().bitwise_eq(&parts[2]));
        assert!(want.1.slice(1, 2, 50, 3).unwrap().bitwise_eq(&x));
        assert!(want.2.slice(2, 9, 40, 1).unwrap().bitwise_eq(&x));
        for threads in [2, 3, 8] {
            crate::threads::set_count(threads);
            let found = make();
            assert!(found.0.bitwise_eq(&want.0));
            assert!(found.1.bitwise_eq(&want.1) && found.2.bitwise_eq(&want.2));
        }
        drop(turn);
    }
}
