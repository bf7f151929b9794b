//! Where the largest or smallest element is.

use std::ops::Range;

use fluvial_tensor::{Element, Error, Result, Tensor, dispatch_real, memory};

use super::Split;
use super::fold::{PIECE, fold_block};
use crate::lanes::{fill_chunks, vectorized_for};
use crate::scalar::compute::Compute;
use crate::strided::View;

/// Elements that are read at once.
const BLOCK: usize = 1024;

/// The position along `axis` of the largest (or smallest) element, as i64; the axis is dropped. Among
/// equal elements the first one counts, and a NaN counts as beyond all others. An axis of size 0 is an
/// error.
pub fn arg_reduce(max: bool, x: &Tensor, axis: usize) -> Result<Tensor> {
    let split = Split::new(x, &[axis])?;
    if split.n_reduced == 0 {
        let name = if max { "maximum" } else { "minimum" };
        return Err(Error::argument(format!("the position of the {name} of no elements")));
    }
    let x = x.permute(&split.order)?;
    let n = split.n_reduced;
    let mut out = Tensor::empty(fluvial_tensor::DType::I64, &split.kept_dims)?;
    let positions = out.as_mut_slice::<i64>()?;
    dispatch_real!(x.dtype(), C => match (split.reduced_inner, max) {
        (true, true) => search_rows(&x, n, positions, C::larger, |a: C, b: C| a > b)?,
        (true, false) => search_rows(&x, n, positions, C::smaller, |a: C, b: C| a < b)?,
        (false, true) => search_columns(&x, n, positions, |a: C, b: C| a > b)?,
        (false, false) => search_columns(&x, n, positions, |a: C, b: C| a < b)?,
    });
    Ok(out)
}

/// Whether `value` takes the place of the earlier `best`.
#[inline(always)]
#[allow(clippy::eq_op)]
fn replaces<C: Element>(value: C, best: C, beyond: impl Fn(C, C) -> bool) -> bool {
    beyond(value, best) | ((value != value) & (best == best))
}

/// The position in each row of `x`, seen as `out.len()` rows of `n` elements.
fn search_rows<C: Element>(
    x: &Tensor,
    n: usize,
    out: &mut [i64],
    extreme: impl Fn(C, C) -> C + Copy + Sync,
    beyond: impl Fn(C, C) -> bool + Copy + Sync,
) -> Result<()> {
    let search = |range: Range<usize>| {
        let view = View::new(x);
        vectorized_for::<C, _>(
            #[inline(always)]
            || search_piece(&view, range, extreme, beyond),
        )
    };
    if n <= PIECE {
        return fill_chunks(out, (PIECE / n).max(1), |first, out| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = search((first + i) * n..(first + i + 1) * n).1;
            }
            Ok(())
        });
    }
    let pieces = n.div_ceil(PIECE);
    let mut partial = memory::filled((C::default(), 0i64), out.len() * pieces)?;
    fill_chunks(&mut partial, 1, |at, partial| {
        let (row, start) = (at / pieces * n, at % pieces * PIECE);
        let (best, position) = search(row + start..row + n.min(start + PIECE));
        partial[0] = (best, position + start as i64);
        Ok(())
    })?;
    for (out, partial) in out.iter_mut().zip(partial.chunks_exact(pieces)) {
        let mut found = partial[0];
        for &part in &partial[1..] {
            if replaces(part.0, found.0, beyond) {
                found = part;
            }
        }
        *out = found.1;
    }
    Ok(())
}

/// The first extreme element of a range that is not empty, and its distance from the start. A block is
/// searched for a position only if its extreme is beyond that of the blocks before.
#[inline(always)]
#[allow(clippy::eq_op)]
fn search_piece<C: Element>(
    view: &View<'_>,
    range: Range<usize>,
    extreme: impl Fn(C, C) -> C + Copy,
    beyond: impl Fn(C, C) -> bool + Copy,
) -> (C, i64) {
    let mut buffer = [C::default(); BLOCK];
    let mut found: Option<(C, i64)> = None;
    for start in range.clone().step_by(BLOCK) {
        let block = view.read(start..range.end.min(start + BLOCK), &mut buffer);
        let best = fold_block(block, extreme);
        if found.is_none_or(|(before, _)| replaces(best, before, beyond)) {
            let is_best = |&value: &C| value == best || (best != best && value != value);
            let at = block.iter().position(is_best).unwrap_or_default();
            found = Some((best, (start - range.start + at) as i64));
        }
    }
    found.unwrap_or_default()
}

/// The position in each column of `x`, seen as `n` rows of `out.len()` elements.
fn search_columns<C: Element>(
    x: &Tensor,
    n: usize,
    out: &mut [i64],
    beyond: impl Fn(C, C) -> bool + Copy + Sync,
) -> Result<()> {
    let row_len = out.len();
    fill_chunks(out, BLOCK / 2, |first, out| {
        let view = View::new(x);
        let mut buffer = [C::default(); BLOCK];
        let mut best = [C::default(); BLOCK];
        let width = out.len();
        best[..width].copy_from_slice(view.read(first..first + width, &mut buffer));
        out.fill(0);
        vectorized_for::<C, _>(
            #[inline(always)]
            || {
                for row in 1..n {
                    let start = row * row_len + first;
                    let values = &view.read(start..start + width, &mut buffer)[..width];
                    for ((out, best), &value) in out.iter_mut().zip(&mut best).zip(values) {
                        let is_beyond = replaces(value, *best, beyond);
                        *best = if is_beyond { value } else { *best };
                        *out = if is_beyond { row as i64 } else { *out };
                    }
                }
            },
        );
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;
    use fluvial_tensor::DType;

    #[test]
    fn the_first_of_equal_elements() {
        let mut rng = Rng::new(11);
        for dtype in
            DType::ALL.into_iter().filter(|dtype| !dtype.is_complex() && !dtype.is_stored())
        {
            for (dims, axis) in [
                (&[2500][..], 0),
                (&[150_000], 0),
                (&[40, 3000], 0),
                (&[3, 7], 1),
                (&[7, 3], 0),
                (&[2, 5, 3], 1),
                (&[4, 1], 0),
                (&[0, 2], 1),
            ] {
                let x = rng.tensor(dtype, dims);
                let x = rng.scramble(&x);
                let mut order: Vec<usize> = (0..x.rank()).filter(|&other| other != axis).collect();
                order.push(axis);
                let rows = x.permute(&order).unwrap().to_f64s();
                for max in [true, false] {
                    let want: Vec<i64> = rows
                        .chunks(dims[axis])
                        .map(|row| {
                            let end =
                                row.iter().copied().reduce(if max { f64::max } else { f64::min });
                            row.iter().position(|&value| Some(value) == end).unwrap() as i64
                        })
                        .collect();
                    let got = arg_reduce(max, &x, axis).unwrap();
                    assert_eq!(got.to_vec::<i64>().unwrap(), want, "{dtype} {dims:?} {axis}");
                }
            }
        }
    }

    #[test]
    fn the_first_nan_wins() {
        let x = Tensor::from_slice(&[1.0f32, f32::NAN, f32::INFINITY, f32::NAN], &[4]).unwrap();
        for max in [true, false] {
            assert_eq!(arg_reduce(max, &x, 0).unwrap().item::<i64>().unwrap(), 1);
            let column = x.reshape(&[4, 1]).unwrap().expand(&[4, 2]).unwrap();
            assert_eq!(arg_reduce(max, &column, 0).unwrap().to_vec::<i64>().unwrap(), [1, 1]);
        }
    }

    #[test]
    fn faults() {
        let x = Tensor::zeros(DType::F32, &[0, 2]).unwrap();
        let error = arg_reduce(true, &x, 0).unwrap_err();
        assert_eq!(error.message(), "the position of the maximum of no elements");
        assert_eq!(arg_reduce(true, &x, 1).unwrap().dims(), [0]);
        assert!(arg_reduce(true, &x, 2).is_err());
    }
}
