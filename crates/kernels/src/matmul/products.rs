//! Which kernel computes a product, and how the work is shared by threads.

use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch_compute};

#[cfg(target_arch = "x86_64")]
use super::blocked;
use super::epilogue::{Prepared, Ready};
use super::matrix::{Grid, Matrix, Sizes};
use super::own::{self, Part};
use super::pack::straighten;
#[cfg(target_arch = "x86_64")]
use super::packed_tile::FLOATS;
use super::tile::Kernel;
use super::{int, vector};
use crate::scalar::Body;
use crate::scalar::compute::Compute;
use crate::simd::{self, Level};
use crate::threads;

/// Writes the products to `out`, which has the dtype of `a` and `b` and the same batch; none is empty.
pub(super) fn products(a: &Tensor, b: &Tensor, out: &mut Tensor, then: &Prepared) -> Result<()> {
    let (&[.., m, k], &[.., n]) = (a.dims(), b.dims()) else { return Ok(()) };
    let sizes = Sizes { m, k, n };
    match out.dtype() {
        DType::F32 => {
            let way = Way::of::<f32>(sizes, a, b);
            #[cfg(target_arch = "x86_64")]
            if way == Way::Blocked {
                return blocked::products(&FLOATS, sizes, of(a, b), out, &then.ready(n));
            }
            // The crate is slower with other layouts than a copy costs.
            let copy = |x: &Tensor, uses: usize| match way == Way::Crate && uses >= 128 {
                true => straighten(x),
                false => Ok(None),
            };
            let (a_copy, b_copy) = (copy(a, n)?, copy(b, m)?);
            let (a, b) = (a_copy.as_ref().unwrap_or(a), b_copy.as_ref().unwrap_or(b));
            share(sizes, way.grid(sizes, then), of(a, b), out, &then.ready(n), |part| match way {
                // SAFETY: `share` passes parts of the tensors.
                Way::Vector(_) => unsafe { vector::product(part) },
                // SAFETY: as above.
                Way::Own => unsafe { own::product(Kernel::best(), part) },
                Way::Crate | Way::Blocked => gemm_crate::<f32>(part),
            })
        }
        DType::F64 => {
            let way = Way::of::<f64>(sizes, a, b);
            share(sizes, way.grid(sizes, then), of(a, b), out, &then.ready(n), |part| match way {
                // SAFETY: `share` passes parts of the tensors.
                Way::Vector(_) => unsafe { vector::product(part) },
                _ => gemm_crate::<f64>(part),
            })
        }
        dtype => dispatch_compute!(dtype, C => {
            let grid = Grid::new(sizes, false);
            share(sizes, grid, of(a, b), out, &then.ready::<C>(n), int::product::<C>)
        }),
    }
}

/// The matrices of two tensors by number.
fn of<T: Compute>(a: &Tensor, b: &Tensor) -> impl Fn(usize) -> (Matrix<T>, Matrix<T>) + Sync {
    move |number| (Matrix::of(a, number), Matrix::of(b, number))
}

/// The products of matrices without columns and without rows: 0, and what follows.
pub(super) fn nothing(n: usize, out: &mut Tensor, then: &Prepared) -> Result<()> {
    dispatch_compute!(out.dtype(), C => {
        let out = out.as_mut_slice::<C>()?;
        out.fill(C::default());
        // SAFETY: this is all of the output, which is ours.
        unsafe { then.ready::<C>(n).apply(0..out.len() / n, 0..n, out.as_mut_ptr()) };
    });
    Ok(())
}

/// Writes the products of columns and rows, which are those of their elements.
pub(super) fn outer(a: &Tensor, b: &Tensor, out: &mut Tensor, then: &Prepared) -> Result<()> {
    let (compute, n) = (out.dtype(), b.dims().last().copied().unwrap_or(1));
    TIMES.run(&[a, b], &[], compute, out)?;
    if !then.is_some() {
        return Ok(());
    }
    dispatch_compute!(compute, C => {
        let out = out.as_mut_slice::<C>()?;
        // SAFETY: this is all of the output, which is ours.
        unsafe { then.ready::<C>(n).apply(0..out.len() / n, 0..n, out.as_mut_ptr()) };
    });
    Ok(())
}

/// The product of two numbers.
static TIMES: LazyLock<Body> = LazyLock::new(|| Body::binary(|x, y| x * y));

/// Which kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// A matrix and a vector, in so many parts.
    Vector(usize),
    /// Our own, for few rows and small matrices.
    Own,
    /// Our own, for large matrices.
    Blocked,
    /// The crate `gemm`.
    Crate,
}

/// Columns from which on packing both operands is worth it, and the same for a left operand whose columns are
/// contiguous: the crate would read it against the grain.
const NARROW: usize = 96;
const NARROW_TURNED: usize = 32;

/// Columns that a task with few rows computes.
const STRIP: usize = 128;

/// Multiplications of a task that computes several small products, each of which fetches what the next
/// one needs.
const BATCH: usize = 1 << 22;

impl Way {
    fn of<T: Compute>(sizes: Sizes, a: &Tensor, b: &Tensor) -> Way {
        let Sizes { m, n, .. } = sizes;
        let (first, second) = (Matrix::<T>::of(a, 0), Matrix::of(b, 0));
        if vector::fits(sizes, first, second) {
            return Way::Vector(vector::parts(sizes, first, second));
        }
        let is_batch = a.rank() > 2;
        let few_rows = m <= 64 && n >= 16;
        let small = sizes.work() <= if is_batch { 256 * 256 * 128 } else { 64 * 64 * 64 };
        let is_turned = first.row_stride == 1 && first.column_stride != 1;
        let narrow = if is_turned { NARROW_TURNED } else { NARROW };
        match T::DTYPE == DType::F32 {
            true if few_rows || small => Way::Own,
            // With fewer columns, packing the rows would take longer than it saves.
            true if n >= narrow && simd::level() == Level::Avx512 => Way::Blocked,
            _ => Way::Crate,
        }
    }

    fn grid(self, sizes: Sizes, then: &Prepared) -> Grid {
        let Sizes { m, n, .. } = sizes;
        match self {
            Way::Vector(parts) => {
                let (row_parts, column_parts) = if n == 1 { (parts, 1) } else { (1, parts) };
                Grid { row_parts, column_parts, parts_per_task: 1 }
            }
            Way::Own if m <= 64 => {
                let column_parts = n.div_ceil(STRIP);
                Grid::of_parts(sizes, 1, column_parts)
            }
            Way::Own => Grid {
                row_parts: 1,
                column_parts: 1,
                parts_per_task: (BATCH / sizes.work()).max(1),
            },
            Way::Crate | Way::Blocked => Grid::new(sizes, then.is_some()),
        }
    }
}

/// The output as all tasks see it.
struct Output<T>(*mut T);

// SAFETY: each task refers to its own part only.
unsafe impl<T> Sync for Output<T> {}

/// Calls `product` for each part of each product of the batch, whose operands `matrices` has by number,
/// and applies the epilogue to it.
pub(super) fn share<T: Compute>(
    sizes: Sizes,
    grid: Grid,
    matrices: impl Fn(usize) -> (Matrix<T>, Matrix<T>) + Sync,
    out: &mut Tensor,
    then: &Ready<'_, T>,
    product: impl Fn(Part<T>) -> Result<()> + Sync,
) -> Result<()> {
    let Sizes { m, k, n } = sizes;
    let out = out.as_mut_slice::<T>()?;
    let n_parts = out.len() / (m * n) * grid.parts();
    let out = Output(out.as_mut_ptr());
    let fault: Mutex<Option<Error>> = Mutex::new(None);
    threads::run(n_parts.div_ceil(grid.parts_per_task), |task| {
        // The whole of it, so that it is shared as such.
        let out = &out;
        let first = task * grid.parts_per_task;
        let end = (first + grid.parts_per_task).min(n_parts);
        for number in first..end {
            let (matrix, part) = (number / grid.parts(), number % grid.parts());
            let (rows, columns): (Range<usize>, Range<usize>) = grid.part(sizes, part);
            if rows.is_empty() || columns.is_empty() {
                continue;
            }
            let (a, b) = matrices(matrix);
            let start = (matrix * m + rows.start) * n + columns.start;
            let done = product(Part {
                sizes: Sizes { m: rows.len(), k, n: columns.len() },
                a: a.from(rows.start, 0),
                b: b.from(0, columns.start),
                out: out.0.wrapping_add(start),
                out_row: n,
                next: (number + 1 < end).then(|| {
                    let (_, next) = grid.part(sizes, (number + 1) % grid.parts());
                    matrices((number + 1) / grid.parts()).1.from(0, next.start).data
                }),
            });
            match done {
                // SAFETY: this part of the output belongs to this task.
                Ok(()) => unsafe {
                    then.apply(matrix * m + rows.start..matrix * m + rows.end, columns, out.0);
                },
                Err(error) => {
                    *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    });
    fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn gemm_crate<T: Compute>(part: Part<T>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, b, out, out_row, .. } = part;
    // SAFETY: `T` is f32 or f64, which gemm has. `a` and `b` are matrices of these sizes and strides
    // within tensors, and `out` has `m` rows of `n` elements to which nothing else refers.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            1,
            out_row as isize,
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
    Ok(())
}
