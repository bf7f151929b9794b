//! Products of a matrix and a vector, at the speed of memory.

use super::matrix::{Matrix, Sizes};
use super::own::Part;
use crate::scalar::compute::Compute;
use crate::scratch::Scratch;
use crate::simd::vectorized;
use fluvial_tensor::Result;

/// The number of chains of sums of a dot product.
const LANES: usize = 64;

/// Rows whose sums are built together from contiguous columns, and the longest chain of such sums.
const ROWS: usize = 2048;
const CHAIN: usize = 256;

/// How many bytes ahead memory is fetched.
const AHEAD: usize = 2048;

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
        let (mut rows, mut xs) = (row.chunks_exact(LANES), x.chunks_exact(LANES));
        for (row, x) in (&mut rows).zip(&mut xs) {
            prefetch(row);
            for lane in 0..LANES {
                sums[lane] = sums[lane].plus(row[lane].times(x[lane]));
            }
        }
        let rest = rows.remainder().iter().zip(xs.remainder());
        for (sum, (&row, &x)) in sums.iter_mut().zip(rest) {
            *sum = sum.plus(row.times(x));
        }
        let mut count = LANES;
        while count > 1 {
            count /= 2;
            for lane in 0..count {
                sums[lane] = sums[lane].plus(sums[lane + count]);
            }
        }
        *out = sums[0];
    }
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
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let low = c0[i].times(w).plus(c1[i].times(x));
                        let high = c2[i].times(y).plus(c3[i].times(z));
                        *sum = sum.plus(low.plus(high));
                    }
                } else {
                    for (i, &x) in x.iter().enumerate() {
                        let column = column(i);
                        sums.iter_mut()
                            .zip(column)
                            .for_each(|(sum, &c)| *sum = sum.plus(c.times(x)));
                    }
                }
            }
            out.iter_mut().zip(&*sums).for_each(|(out, &sum)| *out = out.plus(sum));
        }
    }
}

/// Fetches what lies a little further in memory than `piece`, as many bytes.
#[inline(always)]
fn prefetch<T>(piece: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(piece)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch may have any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(piece.as_ptr().cast::<i8>().wrapping_add(at + AHEAD))
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = piece;
}
