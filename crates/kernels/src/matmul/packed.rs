//! Weights that are packed once and multiplied many times.

use fluvial_tensor::{DType, Error, Result, Tensor};

use super::epilogue::Epilogue;
use super::matrix::{Grid, Matrix, Sizes};
use super::own::product_packed;
use super::pack::pack;
use super::products::share;
use super::tile::{Kernel, WIDTH};
use crate::threads;

/// The most rows and columns that a task computes.
const ROWS: usize = 64;
const STRIP: usize = 128;

/// A matrix `[k, n]` of `f32` in the form in which [`matmul_packed`] reads it.
#[derive(Clone)]
pub struct Packed {
    k: usize,
    n: usize,
    /// Panels of [`WIDTH`] columns, filled up with 0.
    panels: Tensor,
}

impl Packed {
    /// Packs a matrix of any layout; other dtypes are converted to `f32`.
    pub fn new(b: &Tensor) -> Result<Packed> {
        let &[k, n] = b.dims() else {
            return Err(Error::shape(format!("shape {:?} is not that of a matrix", b.dims())));
        };
        let b = b.cast(DType::F32)?;
        let mut panels = Tensor::empty(DType::F32, &[n.div_ceil(WIDTH), k, WIDTH])?;
        let to = Panels(panels.as_mut_slice::<f32>()?.as_mut_ptr());
        let matrix = Columns(Matrix::<f32>::of(&b, 0));
        threads::run(if k == 0 { 0 } else { n.div_ceil(WIDTH) }, |panel| {
            let (to, matrix) = (&to, &matrix);
            let first = panel * WIDTH;
            let width = (n - first).min(WIDTH);
            // SAFETY: these are columns of `b`, and the memory of one panel, which is this task's.
            unsafe { pack(matrix.0.from(0, first), k, width, to.0.wrapping_add(first * k)) };
        });
        Ok(Packed { k, n, panels })
    }

    /// The rows and the columns of the matrix.
    pub fn dims(&self) -> [usize; 2] {
        [self.k, self.n]
    }
}

struct Panels(*mut f32);
struct Columns(Matrix<f32>);
// SAFETY: each task writes its own panel.
unsafe impl Sync for Panels {}
// SAFETY: the matrix is only read.
unsafe impl Sync for Columns {}

/// The product of `a`, of shape `[.., k]` or `[.., m, k]`, and a packed matrix, in `f32`, and what follows
/// it.
///
/// ```
/// use fluvial_kernels::{Epilogue, Packed, matmul_packed};
/// use fluvial_tensor::Tensor;
///
/// let a = Tensor::from_slice(&[1.0f32, 2.0], &[1, 2])?;
/// let b = Packed::new(&Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?)?;
/// assert_eq!(matmul_packed(&a, &b, &Epilogue::default())?.to_vec::<f32>()?, [7.0, 10.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn matmul_packed(a: &Tensor, b: &Packed, then: &Epilogue<'_>) -> Result<Tensor> {
    let &Packed { k, n, ref panels } = b;
    let Some((&own, batch)) = a.dims().split_last() else {
        return Err(Error::shape("a number is not a matrix"));
    };
    if own != k {
        let dims = a.dims();
        return Err(Error::shape(format!(
            "matrices of shapes {dims:?} and [{k}, {n}] do not multiply"
        )));
    }
    let m: usize = batch.iter().product();
    let mut out = Tensor::empty(DType::F32, &[batch, &[n]].concat())?;
    let then = then.prepare(DType::F32, out.dims())?;
    if out.numel() == 0 {
        return Ok(out);
    }
    if k == 0 {
        super::products::nothing(n, &mut out, &then)?;
        return Ok(out);
    }
    let rows = a.cast(DType::F32)?.reshape(&[m, k])?;
    let sizes = Sizes { m, k, n };
    let grid = Grid::of_parts(sizes, m.div_ceil(ROWS), n.div_ceil(STRIP));
    let matrices = |_| {
        // Column `i * WIDTH` is where panel `i` begins.
        let data = panels.data_ptr().cast::<f32>();
        (Matrix::of(&rows, 0), Matrix { data, row_stride: 0, column_stride: k as isize })
    };
    share(sizes, grid, matrices, &mut out, &then.ready(n), |part| {
        // SAFETY: `share` passes parts of the tensors, and their columns begin with a panel.
        unsafe { product_packed(Kernel::best(), part, part.b.data) }
    })?;
    Ok(out)
}
