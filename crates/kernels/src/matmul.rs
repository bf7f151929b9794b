//! Products of matrices.

use fluvial_tensor::{DType, Element, Error, Result, Tensor, dispatch_compute};
use smallvec::SmallVec;

use crate::reduce::accumulator;
use crate::scalar::compute::Compute;
use crate::simd::vectorized;

/// The products of the matrices in `a`, of shape `[.., m, k]`, and `b`, of shape `[.., k, n]`; the axes
/// before them broadcast.
///
/// They are computed in the type where the dtypes of `a`, `b` and `out_dtype` meet, half floats in `f32`,
/// integers wrapping, and then converted to `out_dtype`. With `k == 0` the products are 0.
///
/// ```
/// use fluvial_kernels::matmul;
/// use fluvial_tensor::{DType, Tensor};
///
/// let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = Tensor::from_slice(&[5.0f32, 6.0], &[2, 1])?;
/// assert_eq!(matmul(&a, &b, DType::F32)?.to_vec::<f32>()?, [17.0, 39.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn matmul(a: &Tensor, b: &Tensor, out_dtype: DType) -> Result<Tensor> {
    let (&[ref a_batch @ .., m, k], &[ref b_batch @ .., b_rows, n]) = (a.dims(), b.dims()) else {
        let (a, b) = (a.dims(), b.dims());
        return Err(Error::shape(format!("shapes {a:?} and {b:?} are not both matrices")));
    };
    let mismatch = || {
        Error::shape(format!(
            "matrices of shapes {:?} and {:?} do not multiply",
            a.dims(),
            b.dims()
        ))
    };
    if k != b_rows {
        return Err(mismatch());
    }
    let batch = broadcast_batch(a_batch, b_batch).ok_or_else(mismatch)?;
    let compute = accumulator(a.dtype().promote(b.dtype()), out_dtype);
    let with_matrix = |rows: usize, columns: usize| -> SmallVec<[usize; 8]> {
        batch.iter().copied().chain([rows, columns]).collect()
    };
    let out_dims = with_matrix(m, n);
    if k == 0 {
        return Tensor::zeros(out_dtype, &out_dims);
    }
    let mut out = Tensor::empty(compute, &out_dims)?;
    if out.numel() > 0 {
        let a = a.cast(compute)?.expand(&with_matrix(m, k))?;
        let b = b.cast(compute)?;
        let b = if compute.is_float() { b } else { b.contiguous()? };
        let b = b.expand(&with_matrix(k, n))?;
        let stacked = stack_rows(&a, &b);
        let (a, b) = stacked.as_ref().map_or((&a, &b), |(a, b)| (a, b));
        multiply(a, b, &mut out)?;
    }
    out.cast(out_dtype)
}

/// If one matrix `b` serves the whole batch: all rows of `a` as one matrix, where that needs no copy.
fn stack_rows(a: &Tensor, b: &Tensor) -> Option<(Tensor, Tensor)> {
    let &[ref batch @ .., m, k] = a.dims() else { return None };
    let one_b = batch.iter().zip(b.strides()).all(|(&size, &stride)| size == 1 || stride == 0);
    if batch.is_empty() || !one_b {
        return None;
    }
    let rows = batch.iter().product::<usize>() * m;
    let b = batch.iter().try_fold(b.clone(), |b, _| b.index(0, 0).ok())?;
    Some((a.view(&[rows, k])?, b))
}

/// Writes the products to `out`, which has the dtype of `a` and `b`; none is empty.
fn multiply(a: &Tensor, b: &Tensor, out: &mut Tensor) -> Result<()> {
    match out.dtype() {
        DType::F32 => each_matrix(a, b, out.as_mut_slice()?, float_product::<f32>),
        DType::F64 => each_matrix(a, b, out.as_mut_slice()?, float_product::<f64>),
        dtype => dispatch_compute!(dtype, C => {
            each_matrix(a, b, out.as_mut_slice()?, int_product::<C>);
        }),
    }
    Ok(())
}

/// A matrix in memory; strides are in elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    data: *const T,
    row_stride: isize,
    column_stride: isize,
}

/// The sizes of a product: `m` x `k` times `k` x `n`.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
}

/// Calls `product` for each pair of matrices of the batch, with the part of `out` for its result.
fn each_matrix<T: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut [T],
    product: impl Fn(Sizes, Matrix<T>, Matrix<T>, &mut [T]),
) {
    let (&[.., m, k], &[.., n]) = (a.dims(), b.dims()) else { return };
    for (number, out) in out.chunks_exact_mut(m * n).enumerate() {
        product(Sizes { m, k, n }, matrix(a, number), matrix(b, number), out);
    }
}

/// Matrix `number` of a tensor of at least two axes.
fn matrix<T: Element>(x: &Tensor, mut number: usize) -> Matrix<T> {
    let (batch, strides) = (x.rank() - 2, x.strides());
    let mut offset = 0;
    for (&size, &stride) in x.dims()[..batch].iter().zip(strides).rev() {
        offset += (number % size) as isize * stride;
        number /= size;
    }
    Matrix {
        data: x.data_ptr().cast::<T>().wrapping_offset(offset),
        row_stride: strides[batch],
        column_stride: strides[batch + 1],
    }
}

fn float_product<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>, out: &mut [T]) {
    let Sizes { m, k, n } = sizes;
    // SAFETY: `T` is f32 or f64, which gemm has. `a` and `b` are matrices of these sizes and strides
    // within tensors, and `out` has `m * n` elements, in rows of `n`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.data,
            a.column_stride,
            a.row_stride,
            b.data,
            b.column_stride,
            b.row_stride,
            T::from_f64(0.0),
            T::from_f64(1.0),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The rows of `b` are contiguous.
fn int_product<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>, out: &mut [T]) {
    let Sizes { k, n, .. } = sizes;
    vectorized(
        #[inline(always)]
        || {
            for (i, out) in out.chunks_exact_mut(n).enumerate() {
                out.fill(T::default());
                for p in 0..k {
                    let offset = i as isize * a.row_stride + p as isize * a.column_stride;
                    // SAFETY: `i` and `p` are a row and a column of `a`, and `p` a row of `b`, which
                    // has `n` elements.
                    let (factor, row) = unsafe {
                        let row = b.data.offset(p as isize * b.row_stride);
                        (*a.data.offset(offset), std::slice::from_raw_parts(row, n))
                    };
                    out.iter_mut().zip(row).for_each(|(sum, &b)| *sum = sum.plus(factor.times(b)));
                }
            }
        },
    );
}

/// The shape in which two batches meet.
fn broadcast_batch(a: &[usize], b: &[usize]) -> Option<SmallVec<[usize; 8]>> {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], axis: usize| {
        (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis])
    };
    (0..rank)
        .map(|axis| match (size(a, axis), size(b, axis)) {
            (a, b) if a == b || b == 1 => Some(a),
            (1, b) => Some(b),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Plain sums in f64, which are exact for the numbers of these tests.
    fn naive(a: &Tensor, b: &Tensor, batch: &[usize]) -> Vec<f64> {
        let (&[.., m, k], &[.., n]) = (a.dims(), b.dims()) else { panic!("not matrices") };
        let a = a.expand(&[batch, &[m, k]].concat()).unwrap().to_f64s();
        let b = b.expand(&[batch, &[k, n]].concat()).unwrap().to_f64s();
        let mut out = Vec::new();
        for number in 0..batch.iter().product() {
            for i in 0..m * n {
                let products = (0..k)
                    .map(|p| a[(number * m + i / n) * k + p] * b[(number * k + p) * n + i % n]);
                out.push(products.sum());
            }
        }
        out
    }

    #[test]
    fn every_dtype_and_layout() {
        let mut rng = Rng::new(18);
        let shapes: [(&[usize], &[usize], &[usize]); 13] = [
            (&[1, 1], &[1, 1], &[]),
            (&[3, 4], &[4, 5], &[]),
            (&[1, 70], &[70, 1], &[]),
            (&[33, 17], &[17, 65], &[]),
            (&[1, 8], &[8, 40], &[]),
            (&[40, 8], &[8, 1], &[]),
            (&[2, 3, 4], &[4, 5], &[2]),
            (&[3, 4], &[2, 4, 5], &[2]),
            (&[2, 3, 4], &[2, 4, 5], &[2]),
            (&[2, 1, 3, 4], &[3, 4, 2], &[2, 3]),
            (&[2, 3, 1, 4], &[1, 1, 4, 2], &[2, 3]),
            (&[3, 0], &[0, 2], &[]),
            (&[0, 3, 2], &[2, 2], &[0]),
        ];
        for dtype in DType::ALL {
            for (a_dims, b_dims, batch) in shapes {
                let a = rng.tensor(dtype, a_dims);
                let b = rng.tensor(dtype, b_dims);
                let want = naive(&a, &b, batch);
                for _ in 0..3 {
                    let got = matmul(&rng.scramble(&a), &rng.scramble(&b), DType::F64).unwrap();
                    assert_eq!(got.dims()[..batch.len()], *batch);
                    assert_eq!(got.to_f64s(), want, "{dtype} {a_dims:?} {b_dims:?}");
                }
            }
        }
    }

    #[test]
    fn repeated_rows_and_columns() {
        let row = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
        let a = row.reshape(&[1, 3]).unwrap().expand(&[50, 3]).unwrap();
        let b = row.reshape(&[3, 1]).unwrap().expand(&[3, 40]).unwrap();
        assert_eq!(matmul(&a, &b, DType::F32).unwrap().to_vec::<f32>().unwrap(), [14.0; 2000]);
        let all = Tensor::scalar(2.0f64).expand(&[20, 20]).unwrap();
        assert_eq!(matmul(&all, &all, DType::F64).unwrap().to_vec::<f64>().unwrap(), [80.0; 400]);
    }

    #[test]
    fn integers_wrap_and_bools_do_not() {
        let bytes = Tensor::full(&[2, 2], 100u8).unwrap();
        let product = |out| matmul(&bytes, &bytes, out).unwrap().to_f64s()[0];
        assert_eq!(product(DType::U8), (20_000 % 256) as f64);
        assert_eq!(product(DType::I32), 20_000.0);
        let truths = Tensor::full(&[1, 256], true).unwrap();
        let all = matmul(&truths, &truths.transpose(0, 1).unwrap(), DType::Bool).unwrap();
        assert!(all.item::<bool>().unwrap());
    }

    #[test]
    fn not_a_number_spreads() {
        let a = Tensor::from_slice(&[0.0f32, 1.0], &[1, 2]).unwrap();
        let b = Tensor::from_slice(&[f32::INFINITY, 1.0, 2.0, f32::NAN], &[2, 2]).unwrap();
        assert!(matmul(&a, &b, DType::F32).unwrap().to_f64s().into_iter().all(f64::is_nan));
    }

    #[test]
    fn faults() {
        let x = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
        let error = matmul(&x(&[2, 3]), &x(&[2, 3]), DType::F32).unwrap_err();
        assert_eq!(error.message(), "matrices of shapes [2, 3] and [2, 3] do not multiply");
        let error = matmul(&x(&[3]), &x(&[3, 2]), DType::F32).unwrap_err();
        assert_eq!(error.message(), "shapes [3] and [3, 2] are not both matrices");
        assert!(matmul(&x(&[2, 3, 4]), &x(&[3, 4, 5]), DType::F32).is_err());
    }
}
