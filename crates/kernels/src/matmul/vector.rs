//! Products of a matrix and a vector, at the speed of memory.

use super::matrix::{Matrix, Sizes};
use super::own::Part;
use crate::lanes::{a_page_of, by_halves, prefetch};
use crate::scalar::compute::Compute;
use crate::scratch::Scratch;
use crate::simd::vectorized;
use fluvial_tensor::Result;

/// The number of chains of sums of a dot product.
const LANES: usize = 64;

/// Rows whose sums are built together from contiguous columns, and the longest chain of such sums.
const ROWS: usize = 2048;
const CHAIN: usize = 256;

/// Whether [`product`] takes a product: one of the two is a vector, and the other has contiguous rows or
/// columns.
pub(super) fn fits<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>) -> bool {
    let matrix = match sizes {
        Sizes { n: 1, .. } => a,
        Sizes { m: 1, .. } => b,
        _ => return false,
    };
    matrix.column_stride == 1 || matrix.row_stride == 1
}

/// Computes a part that [`fits`].
///
/// # Safety
///
/// The matrices are within tensors, and nothing else refers to the output meanwhile.
pub(super) unsafe fn product<T: Compute>(part: Part<T>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, b, out, .. } = part;
    let (matrix, rows, x) = match n {
        1 => (a, m, b.transposed()),
        _ => (b.transposed(), n, a),
    };
    let mut scratch = Scratch::take::<T>(k + ROWS)?;
    let memory = scratch.as_mut_ptr::<T>();
    // SAFETY: the scratch memory has room for both; `out` has one element for each row of `matrix`,
    // next to each other since it is one row or one column of a contiguous output.
    let (copy, sums, out) = unsafe {
        (
            std::slice::from_raw_parts_mut(memory, k),
            std::slice::from_raw_parts_mut(memory.wrapping_add(k), ROWS),
            std::slice::from_raw_parts_mut(out, rows),
        )
    };
    for (p, to) in copy.iter_mut().enumerate() {
        // SAFETY: the vector has `k` elements.
        *to = unsafe { *x.data.wrapping_offset(p as isize * x.column_stride) };
    }
    vectorized(
        #[inline(always)]
        || {
            // SAFETY: the matrix has `out.len()` rows and `copy.len()` columns.
            unsafe {
                match matrix.column_stride {
                    1 => dots(matrix, copy, out),
                    _ => columns(matrix, copy, sums, out),
                }
            }
        },
    );
    Ok(())
}

/// Rows are contiguous: a dot product for each.
#[inline(always)]
unsafe fn dots<T: Compute>(matrix: Matrix<T>, x: &[T], out: &mut [T]) {
    for (row, out) in out.iter_mut().enumerate() {
        // SAFETY: the matrix has rows of this length.
        let row = unsafe { std::slice::from_raw_parts(matrix.from(row, 0).data, x.len()) };
        let mut sums = [T::default(); LANES];
        let (rows, rest) = row.as_chunks::<LANES>();
        let (xs, x_rest) = x.as_chunks::<LANES>();
        for (row, x) in rows.iter().zip(xs) {
            prefetch::<T, LANES>(row.as_ptr(), a_page_of::<T>());
            for lane in 0..LANES {
                sums[lane] = sums[lane].plus(row[lane].times(x[lane]));
            }
        }
        if !rest.is_empty() {
            sums = with_rest(sums, rest, x_rest);
        }
        *out = by_halves(sums, T::plus);
    }
}

/// Kept apart: an array of which a part is used at run time does not stay in registers.
#[inline(never)]
fn with_rest<T: Compute>(mut sums: [T; LANES], rest: &[T], x: &[T]) -> [T; LANES] {
    for (sum, (&row, &x)) in sums.iter_mut().zip(rest.iter().zip(x)) {
        *sum = sum.plus(row.times(x));
    }
    sums
}

/// Columns are contiguous: their multiples are added.
#[inline(always)]
unsafe fn columns<T: Compute>(matrix: Matrix<T>, x: &[T], sums: &mut [T], out: &mut [T]) {
    for (number, out) in out.chunks_mut(ROWS).enumerate() {
        let sums = &mut sums[..out.len()];
        out.fill(T::default());
        for (chain, x) in x.chunks(CHAIN).enumerate() {
            sums.fill(T::default());
            for (four, x) in x.chunks(4).enumerate() {
                // SAFETY: the matrix has these columns and, in each, these rows.
                let column = |i: usize| unsafe {
                    let column = chain * CHAIN + four * 4 + i;
                    std::slice::from_raw_parts(matrix.from(number * ROWS, column).data, out.len())
                };
                if let &[w, x, y, z] = x {
                    let (c0, c1, c2, c3) = (column(0), column(1), column(2), column(3));
                    for (at, sums) in sums.chunks_mut(LANES).enumerate() {
                        let [c0, c1, c2, c3] = [c0, c1, c2, c3].map(
                            #[inline(always)]
                            |column| {
                                let piece = &column[at * LANES..][..sums.len()];
                                // The same piece of the fourth column after this one.
                                let ahead = 4 * matrix.column_stride.unsigned_abs();
                                prefetch::<T, LANES>(piece.as_ptr(), ahead);
                                piece
                            },
                        );
                        for (i, sum) in sums.iter_mut().enumerate() {
                            let low = c0[i].times(w).plus(c1[i].times(x));
                            let high = c2[i].times(y).plus(c3[i].times(z));
                            *sum = sum.plus(low.plus(high));
                        }
                    }
                } else {
                    for (i, &x) in x.iter().enumerate() {
                        let column = column(i);
                        for (sum, &c) in sums.iter_mut().zip(column) {
                            *sum = sum.plus(c.times(x));
                        }
                    }
                }
            }
            for (out, &sum) in out.iter_mut().zip(&*sums) {
                *out = out.plus(sum);
            }
        }
    }
}
