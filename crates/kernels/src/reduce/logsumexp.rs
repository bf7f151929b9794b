//! The logarithm of a sum of exponentials.

use fluvial_tensor::{DType, Result, Tensor, memory};

use super::Split;
use super::fold::PIECE;
use crate::lanes::{Parts, fill_chunks, run_tasks};
use crate::scalar::float::larger;
use crate::simd::vectorized;
use crate::softmax::{Power, elements, largest, sum_powers};

/// Elements whose powers are added before their sum is added to the others in `f64`.
const BLOCK: usize = 4096;

/// `log(sum(exp(x)))` over `axes`, which are dropped from the shape, without overflow; -inf for no
/// elements. It is computed in `f64` if `out_dtype` is that, else in `f32`.
pub fn logsumexp(x: &Tensor, axes: &[usize], out_dtype: DType) -> Result<Tensor> {
    let compute = out_dtype.promote(DType::F32);
    let split = Split::new(x, axes)?;
    if split.n_reduced == 0 {
        return Tensor::scalar(f64::NEG_INFINITY).cast(out_dtype)?.expand(&split.kept_dims);
    }
    let kept: usize = split.kept_dims.iter().product();
    let mut order = split.order;
    let by_columns = !split.reduced_inner && kept >= COLUMNS / 4;
    if !split.reduced_inner && !by_columns {
        // Few lanes are brought together.
        order.rotate_left(axes.len());
    }
    let x = x.cast(compute)?.permute(&order)?.contiguous()?;
    let mut out = Tensor::empty(compute, &split.kept_dims)?;
    match (compute, by_columns) {
        (DType::F64, true) => columns::<f64>(elements(&x)?, split.n_reduced, out.as_mut_slice()?)?,
        (DType::F64, false) => rows::<f64>(elements(&x)?, split.n_reduced, out.as_mut_slice()?)?,
        (_, true) => columns::<f32>(elements(&x)?, split.n_reduced, out.as_mut_slice()?)?,
        (_, false) => rows::<f32>(elements(&x)?, split.n_reduced, out.as_mut_slice()?)?,
    }
    out.cast(out_dtype)
}

/// Columns that are taken together, and rows of a piece of them.
const COLUMNS: usize = 256;
const PIECE_ROWS: usize = PIECE / COLUMNS;

/// The result of each column of `n` elements.
fn columns<C: Power>(x: &[C], n: usize, out: &mut [C]) -> Result<()> {
    let width = out.len();
    let (strips, pieces) = (width.div_ceil(COLUMNS), n.div_ceil(PIECE_ROWS));
    let mut found = memory::filled((C::ZERO, 0.0), width * pieces)?;
    let parts = Parts::new(&mut found);
    run_tasks(strips * pieces, |task| {
        let first = task % strips * COLUMNS;
        let (piece, range) = (task / strips, first..width.min(first + COLUMNS));
        let rows = &x[piece * PIECE_ROWS * width..width * n.min((piece + 1) * PIECE_ROWS)];
        // SAFETY: each strip of each piece belongs to one task.
        let found = unsafe { parts.get(piece * width + range.start..piece * width + range.end) };
        vectorized(
            #[inline(always)]
            || column_piece(rows, width, range.start, found),
        );
        Ok(())
    })?;
    let mut of_column = memory::filled((C::ZERO, 0.0), pieces)?;
    for (i, out) in out.iter_mut().enumerate() {
        for (piece, of_column) in of_column.iter_mut().enumerate() {
            *of_column = found[piece * width + i];
        }
        *out = join(&of_column);
    }
    Ok(())
}

/// [`piece`] of neighbouring columns, from `first` on, of rows of `width` elements.
#[inline(always)]
fn column_piece<C: Power>(rows: &[C], width: usize, first: usize, found: &mut [(C, f64)]) {
    let count = found.len();
    let mut highest = [-C::INFINITY; COLUMNS];
    for row in rows.chunks_exact(width) {
        for (high, &x) in highest.iter_mut().zip(&row[first..first + count]) {
            *high = larger(*high, x);
        }
    }
    let mut levels = [C::ZERO; COLUMNS];
    for i in 0..COLUMNS {
        levels[i] = level(highest[i]);
    }
    let mut sums = [C::ZERO; COLUMNS];
    for row in rows.chunks_exact(width) {
        let row = &row[first..first + count];
        for ((sum, &level), &x) in sums.iter_mut().zip(&levels).zip(row) {
            *sum = *sum + (x - level).power();
        }
    }
    for ((found, &high), &sum) in found.iter_mut().zip(&highest).zip(&sums) {
        *found = (high, sum.to_f64());
    }
}

/// The result of each row of `n` elements.
fn rows<C: Power>(x: &[C], n: usize, out: &mut [C]) -> Result<()> {
    if n <= PIECE {
        return fill_chunks(out, PIECE / 4 / n.min(PIECE / 4), |first, out| {
            for (row, out) in x[first * n..].chunks_exact(n).zip(out) {
                *out = join(&[piece(row)]);
            }
            Ok(())
        });
    }
    let pieces = n.div_ceil(PIECE);
    let mut found = memory::filled((C::ZERO, 0.0), out.len() * pieces)?;
    fill_chunks(&mut found, 1, |at, found| {
        let row = &x[at / pieces * n..][..n];
        found[0] = piece(&row[at % pieces * PIECE..n.min((at % pieces + 1) * PIECE)]);
        Ok(())
    })?;
    for (out, found) in out.iter_mut().zip(found.chunks_exact(pieces)) {
        *out = join(found);
    }
    Ok(())
}

/// The largest element, and the sum of the powers of the distances to it, or to 0 if it is infinite.
fn piece<C: Power>(row: &[C]) -> (C, f64) {
    vectorized(
        #[inline(always)]
        || {
            let largest = largest(row);
            let mut sum = 0.0;
            for block in row.chunks(BLOCK) {
                sum += sum_powers(block, level(largest)).to_f64();
            }
            (largest, sum)
        },
    )
}

/// The result of pieces of one row.
fn join<C: Power>(pieces: &[(C, f64)]) -> C {
    let higher = |high, &(next, _): &(C, f64)| if next > high { next } else { high };
    let highest = level(pieces.iter().fold(-C::INFINITY, higher)).to_f64();
    let share = |&(largest, sum): &(C, f64)| match sum == 0.0 {
        true => 0.0,
        false => sum * (level(largest).to_f64() - highest).exp(),
    };
    C::from_f64(pieces.iter().map(share).sum::<f64>().ln() + highest)
}

/// What is subtracted from the exponents. From an infinite one nothing is left, and NaN stays.
#[inline(always)]
fn level<C: Power>(greatest: C) -> C {
    if greatest.abs() == C::INFINITY { C::ZERO } else { greatest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_infinite_and_no_elements() {
        let infinite = f64::INFINITY;
        let of = |values: &[f64]| {
            let x = Tensor::from_slice(values, &[values.len()]).unwrap();
            logsumexp(&x, &[0], DType::F64).unwrap().item::<f64>().unwrap()
        };
        assert_eq!(of(&[1000.0, 1000.0]), 1000.0 + 2f64.ln());
        assert_eq!(of(&[-infinite, -infinite]), -infinite);
        assert_eq!(of(&[-infinite, 3.0]), 3.0);
        assert_eq!(of(&[infinite, -infinite, 1.0]), infinite);
        assert_eq!(of(&[]), -infinite);
        assert!(of(&[f64::NAN, infinite]).is_nan());
        let mut long = vec![-infinite; 3 * PIECE + 7];
        assert_eq!(of(&long), -infinite);
        long[2 * PIECE] = -1000.0;
        assert_eq!(of(&long), -1000.0);
    }

    #[test]
    fn any_axes_on_any_number_of_threads_and_all_levels() {
        let mut rng = crate::testing::Rng::new(26);
        for (dims, axes) in [
            (&[40, 300][..], &[1][..]),
            (&[40, 300], &[0]),
            (&[6, 70, 50], &[0, 2]),
            (&[6, 70, 50], &[1, 0]),
            (&[700, 333], &[0]),
            (&[3, 290, 2, 40], &[1]),
            (&[200_003], &[0]),
        ] {
            let x = rng.tensor(DType::F32, dims);
            let want = logsumexp(&x, axes, DType::F64).unwrap();
            let mut first: Option<Tensor> = None;
            for level in crate::simd::Level::ALL {
                let _forced = crate::simd::force(level);
                for threads in [1, 2, 3, 8] {
                    crate::threads::set_count(threads);
                    let found = logsumexp(&rng.scramble(&x), axes, DType::F32).unwrap();
                    assert!(first.get_or_insert(found.clone()).bitwise_eq(&found));
                    let pairs = found.to_f64s().into_iter().zip(want.to_f64s());
                    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-6 * b.abs()));
                }
            }
        }
    }
}
