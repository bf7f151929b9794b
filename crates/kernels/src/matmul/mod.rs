//! Products of matrices.
//!
//! [`products`] chooses the kernel and shares the work. Our own kernels are made of [`tile`]s and [`pack`]ed
//! panels: [`own`] is for few rows and small matrices, [`blocked`] for large ones where there is AVX-512;
//! elsewhere these go to the crate `gemm`. [`vector`] and [`int`] are for vectors and integers, [`pairs`] for `bf16` where the machine has instructions for it, [`complex`] makes products of the parts. [`epilogue`] is what follows a
//! product, [`blocks`] are products inside of other kernels.

pub(crate) mod blocks;
mod epilogue;
mod products;

#[cfg(target_arch = "x86_64")]
mod blocked;
mod complex;
mod int;
mod own;
mod vector;

mod matrix;
mod pack;
#[cfg(target_arch = "x86_64")]
mod packed_tile;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod tile;

#[cfg(test)]
mod tests;

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

pub use epilogue::{Activation, Epilogue};

use crate::reduce::accumulator;

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
    matmul_with(a, b, out_dtype, &Epilogue::default())
}

/// [`matmul()`], and what follows it.
///
/// ```
/// use fluvial_kernels::{Activation, Epilogue, matmul_with};
/// use fluvial_tensor::{DType, Tensor};
///
/// let a = Tensor::from_slice(&[1.0f32, 2.0], &[1, 2])?;
/// let b = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let bias = Tensor::from_slice(&[1.0f32, -20.0], &[2])?;
/// let then =
///     Epilogue { bias: Some(&bias), activation: Some(Activation::Relu), ..Epilogue::default() };
/// assert_eq!(matmul_with(&a, &b, DType::F32, &then)?.to_vec::<f32>()?, [8.0, 0.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn matmul_with(
    a: &Tensor,
    b: &Tensor,
    out_dtype: DType,
    then: &Epilogue<'_>,
) -> Result<Tensor> {
    let shape = Shape::of(a, b, out_dtype)?;
    let mut out = Tensor::empty(shape.compute, &shape.out_dims())?;
    multiply(&shape, a, b, then, &mut out)?;
    out.cast(out_dtype)
}

/// The shape of a product and the type it is computed in.
struct Shape {
    batch: SmallVec<[usize; 8]>,
    m: usize,
    k: usize,
    n: usize,
    compute: DType,
}

impl Shape {
    fn of(a: &Tensor, b: &Tensor, out_dtype: DType) -> Result<Shape> {
        let (&[ref a_batch @ .., m, k], &[ref b_batch @ .., b_rows, n]) = (a.dims(), b.dims())
        else {
            let (a, b) = (a.dims(), b.dims());
            return Err(Error::shape(format!("shapes {a:?} and {b:?} are not both matrices")));
        };
        let mismatch = || {
            let (a, b) = (a.dims(), b.dims());
            Error::shape(format!("matrices of shapes {a:?} and {b:?} do not multiply"))
        };
        if k != b_rows {
            return Err(mismatch());
        }
        let batch = broadcast_batch(a_batch, b_batch).ok_or_else(mismatch)?;
        let compute = accumulator(a.dtype().promote(b.dtype()), out_dtype);
        Ok(Shape { batch, m, k, n, compute })
    }

    fn with_matrix(&self, rows: usize, columns: usize) -> SmallVec<[usize; 8]> {
        self.batch.iter().copied().chain([rows, columns]).collect()
    }

    fn out_dims(&self) -> SmallVec<[usize; 8]> {
        self.with_matrix(self.m, self.n)
    }
}

/// Writes the product to `out`, which has its shape and the dtype it is computed in.
fn multiply(
    shape: &Shape,
    a: &Tensor,
    b: &Tensor,
    then: &Epilogue<'_>,
    out: &mut Tensor,
) -> Result<()> {
    let &Shape { m, k, n, compute, .. } = shape;
    let then = then.prepare(compute, out.dims())?;
    if out.numel() == 0 {
        return Ok(());
    }
    if k == 0 {
        return products::nothing(n, out, &then);
    }
    #[cfg(target_arch = "x86_64")]
    if pairs::fits(shape, a, b) {
        return pairs::products(shape, a, b, out, &then);
    }
    let a = a.cast(compute)?.expand(&shape.with_matrix(m, k))?;
    let b = b.cast(compute)?;
    let b = if compute.is_float() { b } else { b.contiguous()? };
    let b = b.expand(&shape.with_matrix(k, n))?;
    if k == 1 {
        return products::outer(&a, &b, out, &then);
    }
    if compute.is_complex() && !then.is_some() && complex::is_worth_it(m, k, n) {
        return complex::by_parts(&a, &b, out);
    }
    let stacked = stack_rows(&a, &b);
    let (a, b) = stacked.as_ref().map_or((&a, &b), |(a, b)| (a, b));
    products::products(a, b, out, &then)
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
