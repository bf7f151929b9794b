//! Where the largest or smallest element is.

use fluvial_tensor::{Element, Error, Result, Tensor, dispatch_compute};

use super::Split;
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
    let view = View::new(&x);
    let n = split.n_reduced;
    let mut out = Tensor::empty(fluvial_tensor::DType::I64, &split.kept_dims)?;
    let positions = out.as_mut_slice::<i64>()?;
    dispatch_compute!(x.dtype(), C => match (split.reduced_inner, max) {
        (true, true) => search_rows(&view, n, positions, |a: C, b: C| a > b),
        (true, false) => search_rows(&view, n, positions, |a: C, b: C| a < b),
        (false, true) => search_columns(&view, n, positions, |a: C, b: C| a > b),
        (false, false) => search_columns(&view, n, positions, |a: C, b: C| a < b),
    });
    Ok(out)
}

/// Whether `value` takes the place of the earlier `best`.
#[inline(always)]
#[allow(clippy::eq_op)]
fn replaces<C: Element>(value: C, best: C, beyond: impl Fn(C, C) -> bool) -> bool {
    beyond(value, best) || (value != value && best == best)
}

/// The position in each row of a view of `out.len()` rows of `n` elements.
fn search_rows<C: Element>(
    view: &View<'_>,
    n: usize,
    out: &mut [i64],
    beyond: impl Fn(C, C) -> bool + Copy,
) {
    let mut buffer = [C::default(); BLOCK];
    for (row, out) in out.iter_mut().enumerate() {
        let mut best = None;
        for start in (0..n).step_by(BLOCK) {
            let from = row * n + start;
            let block = view.read(from..from + BLOCK.min(n - start), &mut buffer);
            for (i, &value) in block.iter().enumerate() {
                if best.is_none_or(|best| replaces(value, best, beyond)) {
                    best = Some(value);
                    *out = (start + i) as i64;
                }
            }
        }
    }
}

/// The position in each column of a view of `n` rows of `out.len()` elements.
fn search_columns<C: Element>(
    view: &View<'_>,
    n: usize,
    out: &mut [i64],
    beyond: impl Fn(C, C) -> bool + Copy,
) {
    let row_len = out.len();
    let mut buffer = [C::default(); BLOCK];
    let mut best = [C::default(); BLOCK];
    for (part, out) in out.chunks_mut(BLOCK).enumerate() {
        for row in 0..n {
            let start = row * row_len + part * BLOCK;
            let values = view.read(start..start + out.len(), &mut buffer);
            for ((out, best), &value) in out.iter_mut().zip(&mut best).zip(values) {
                if row == 0 || replaces(value, *best, beyond) {
                    *best = value;
                    *out = row as i64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;
    use fluvial_tensor::DType;

    #[test]
    fn the_first_of_equal_elements() {
        let mut rng = Rng::new(11);
        for dtype in DType::ALL {
            for (dims, axis) in [
                (&[2500][..], 0),
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
