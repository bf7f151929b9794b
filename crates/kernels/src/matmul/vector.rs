//! Products of a matrix and a vector, at the speed of memory.
//!
//! That is reached with several streams: a processor that reads one row after the other waits at the end
//! of each page, and for each stream the hardware fetches ahead on its own.

use super::matrix::{Matrix, Sizes};
use super::own::Part;
use crate::lanes::{Parts, by_halves, prefetch, run_tasks};
use crate::scalar::compute::Compute;
use crate::scratch::Scratch;
use crate::simd::vectorized;
use fluvial_tensor::Result;

/// The number of chains of sums of a dot product, and the dot products that are computed at once.
const LANES: usize = 16;
const DOTS: usize = 8;

/// How many elements ahead in each of these streams.
const AHEAD: usize = 128;

/// Rows whose sums are built together from contiguous columns, and the longest chain of such sums.
const ROWS: usize = 4096;
const CHAIN: usize = 256;

/// Sums of a step from column to column.
const PIECE: usize = 32;

/// Multiplications that are worth a task, and the most tasks.
const TASK: usize = 1 << 17;
const TASKS: usize = 16;

/// Whether [`product`] takes a product: one of the two is a vector, and the other has contiguous rows or
/// columns.
pub(super) fn fits<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>) -> bool {
    matrix_of(sizes, a, b).is_some_and(|matrix| matrix.column_stride == 1 || matrix.row_stride == 1)
}

/// The matrix, so that its product with the vector has an element for each row; `None` if neither is a
/// vector.
fn matrix_of<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>) -> Option<Matrix<T>> {
    match sizes {
        Sizes { n: 1, .. } => Some(a),
        Sizes { m: 1, .. } => Some(b.transposed()),
        _ => None,
    }
}

/// Into how many parts a product that [`fits`] is cut for [`product`], which cuts some itself.
pub(super) fn parts<T: Compute>(sizes: Sizes, a: Matrix<T>, b: Matrix<T>) -> usize {
    match matrix_of(sizes, a, b) {
        Some(matrix) if matrix.column_stride == 1 => {
            (sizes.work() / TASK).clamp(1, TASKS).min((sizes.m * sizes.n).div_ceil(DOTS))
        }
        _ => 1,
    }
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
    let mut scratch = Scratch::take::<T>(k)?;
    // SAFETY: the scratch memory has room for the vector; `out` has one element for each row of `matrix`,
    // next to each other since it is one row or one column of a contiguous output.
    let (copy, out) = unsafe {
        (
            std::slice::from_raw_parts_mut(scratch.as_mut_ptr::<T>(), k),
            std::slice::from_raw_parts_mut(out, rows),
        )
    };
    for (p, to) in copy.iter_mut().enumerate() {
        // SAFETY: the vector has `k` elements.
        *to = unsafe { *x.data.wrapping_offset(p as isize * x.column_stride) };
    }
    if matrix.column_stride != 1 {
        return by_columns(Shared(matrix), copy, out);
    }
    vectorized(
        #[inline(always)]
        || {
            let (many, rest) = out.as_chunks_mut::<DOTS>();
            // SAFETY: the matrix has `out.len()` rows and `copy.len()` columns.
            unsafe {
                for (number, out) in many.iter_mut().enumerate() {
                    dots(matrix.from(number * DOTS, 0), copy, out);
                }
                for (number, out) in rest.iter_mut().enumerate() {
                    dots(
                        matrix.from(many.len() * DOTS + number, 0),
                        copy,
                        std::array::from_mut(out),
                    );
                }
            }
        },
    );
    Ok(())
}

/// Rows are contiguous: a dot product for each of some rows.
#[inline(always)]
unsafe fn dots<T: Compute, const N: usize>(matrix: Matrix<T>, x: &[T], out: &mut [T; N]) {
    let rows: [&[T]; N] = std::array::from_fn(
        #[inline(always)]
        |row| {
            // SAFETY: the matrix has rows of this length.
            unsafe { std::slice::from_raw_parts(matrix.from(row, 0).data, x.len()) }
        },
    );
    let mut sums = [[T::default(); LANES]; N];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    for (at, x) in xs.iter().enumerate() {
        for row in 0..N {
            let piece = &rows[row][at * LANES..][..LANES];
            prefetch::<T, LANES>(piece.as_ptr(), AHEAD);
            for lane in 0..LANES {
                sums[row][lane] = sums[row][lane].plus(piece[lane].times(x[lane]));
            }
        }
    }
    for row in 0..N {
        let rest = &rows[row][xs.len() * LANES..];
        out[row] = match rest {
            [] => by_halves(sums[row], T::plus),
            rest => with_rest(sums[row], rest, x_rest),
        };
    }
}

/// Kept apart: an array of which a part is used at run time does not stay in registers.
#[inline(never)]
fn with_rest<T: Compute>(mut sums: [T; LANES], rest: &[T], x: &[T]) -> T {
    for (sum, (&row, &x)) in sums.iter_mut().zip(rest.iter().zip(x)) {
        *sum = sum.plus(row.times(x));
    }
    by_halves(sums, T::plus)
}

/// A matrix that tasks read.
#[derive(Clone, Copy)]
struct Shared<T>(Matrix<T>);

// SAFETY: nobody writes to it while it is read.
unsafe impl<T> Sync for Shared<T> {}

/// Columns are contiguous: their multiples are added. Each task has some whole columns, since memory is
/// fastest in the order in which it lies, and what they have found is added up at the end.
fn by_columns<T: Compute>(matrix: Shared<T>, x: &[T], out: &mut [T]) -> Result<()> {
    let (k, rows) = (x.len(), out.len());
    let wanted = (k.saturating_mul(rows) / TASK).clamp(1, TASKS);
    let per_part = k.div_ceil(wanted).next_multiple_of(CHAIN);
    let (parts, blocks) = (k.div_ceil(per_part), rows.div_ceil(ROWS));
    let mut scratch = Scratch::take::<T>((parts - 1) * rows)?;
    // SAFETY: the scratch memory has room for all parts but the first, which goes to `out`.
    let others =
        unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr::<T>(), (parts - 1) * rows) };
    {
        let (first, others) = (Parts::new(&mut *out), Parts::new(&mut *others));
        let matrix = &matrix;
        let task = |number: usize| {
            let (part, block) = (number / blocks, number % blocks);
            let block = block * ROWS..rows.min((block + 1) * ROWS);
            let columns = part * per_part..k.min((part + 1) * per_part);
            // SAFETY: each task has its own rows of its own part.
            let to = unsafe {
                match part {
                    0 => first.get(block.clone()),
                    _ => {
                        let start = (part - 1) * rows;
                        others.get(start + block.start..start + block.end)
                    }
                }
            };
            let mut scratch = Scratch::take::<T>(ROWS)?;
            // SAFETY: the scratch memory has room for them.
            let sums =
                unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr::<T>(), to.len()) };
            vectorized(
                #[inline(always)]
                || {
                    let from = matrix.0.from(block.start, columns.start);
                    // SAFETY: the matrix has these columns and, in each, these rows.
                    unsafe { add_columns(from, &x[columns.clone()], sums, to) }
                },
            );
            Ok(())
        };
        match wanted {
            1 => (0..parts * blocks).try_for_each(task)?,
            _ => run_tasks(parts * blocks, task)?,
        }
    }
    for part in others.chunks_exact(rows) {
        for (out, &sum) in out.iter_mut().zip(part) {
            *out = out.plus(sum);
        }
    }
    Ok(())
}

/// Writes the sum of multiples of columns to `out`; `sums` is room for as many.
#[inline(always)]
unsafe fn add_columns<T: Compute>(matrix: Matrix<T>, x: &[T], sums: &mut [T], out: &mut [T]) {
    out.fill(T::default());
    let len = out.len();
    for (chain, x) in x.chunks(CHAIN).enumerate() {
        sums.fill(T::default());
        let (fours, rest) = x.as_chunks::<4>();
        // SAFETY: the matrix has these columns and, in each, these rows.
        let column = |i: usize| unsafe {
            std::slice::from_raw_parts(matrix.from(0, chain * CHAIN + i).data, len)
        };
        for (four, factors) in fours.iter().enumerate() {
            let columns: [&[T]; 4] = std::array::from_fn(
                #[inline(always)]
                |i| column(four * 4 + i),
            );
            // The same piece of the fourth column after each.
            let ahead = 4 * matrix.column_stride.unsigned_abs();
            let (pieces, last) = sums.as_chunks_mut::<PIECE>();
            for (at, sums) in pieces.iter_mut().enumerate() {
                let at = at * PIECE;
                for column in columns {
                    prefetch::<T, PIECE>(column[at..].as_ptr(), ahead);
                }
                four_columns(
                    sums,
                    columns.map(
                        #[inline(always)]
                        |column| &column[at..at + PIECE],
                    ),
                    factors,
                );
            }
            let at = len - last.len();
            four_columns(
                last,
                columns.map(
                    #[inline(always)]
                    |column| &column[at..],
                ),
                factors,
            );
        }
        for (i, &factor) in rest.iter().enumerate() {
            for (sum, &c) in sums.iter_mut().zip(column(fours.len() * 4 + i)) {
                *sum = sum.plus(c.times(factor));
            }
        }
        for (out, &sum) in out.iter_mut().zip(&*sums) {
            *out = out.plus(sum);
        }
    }
}

#[inline(always)]
fn four_columns<T: Compute>(sums: &mut [T], columns: [&[T]; 4], &[w, x, y, z]: &[T; 4]) {
    let [a, b, c, d] = columns;
    for (sum, (((&a, &b), &c), &d)) in sums.iter_mut().zip(a.iter().zip(b).zip(c).zip(d)) {
        let (low, high) = (a.times(w).plus(b.times(x)), c.times(y).plus(d.times(z)));
        *sum = sum.plus(low.plus(high));
    }
}
