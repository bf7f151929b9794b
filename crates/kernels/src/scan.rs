//! Running results along an axis.
//!
//! Floats are accumulated in `f64`, complex numbers in two of them, and integers in `i64`, wrapping; the result is converted at the end.

use fluvial_tensor::{Complex, DType, Element, Error, Result, Tensor};

use crate::copy::check_axis;
use crate::lanes::{Parts, along, fill_chunks, run_tasks};
use crate::reduce::accumulator;
use crate::scalar::compute::Compute;
use crate::simd::vectorized;
use crate::softmax::elements;

/// What a scan accumulates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scan {
    /// The sum so far.
    Sum,
    /// The product so far.
    Prod,
    /// The logarithm of the sum of exponentials so far.
    LogSumExp,
}

/// The running results along `axis`, each with its own element; from the end if `reverse`.
///
/// ```
/// use fluvial_kernels::{Scan, scan};
/// use fluvial_tensor::{Complex, DType, Tensor};
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// assert_eq!(scan(Scan::Sum, &x, 0, false, DType::F32)?.to_f64s(), [1.0, 3.0, 6.0]);
/// assert_eq!(scan(Scan::Sum, &x, 0, true, DType::F32)?.to_f64s(), [6.0, 5.0, 3.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn scan(
    kind: Scan,
    x: &Tensor,
    axis: usize,
    reverse: bool,
    out_dtype: DType,
) -> Result<Tensor> {
    if x.dtype() == out_dtype && matches!(out_dtype, DType::F32 | DType::F64) {
        // Nothing comes before the first element: what it is combined with changes no bit of it.
        match (kind, out_dtype) {
            (Scan::Sum, DType::F32) => {
                return running_floats::<f32>(x, axis, reverse, -0.0, f64::plus);
            }
            (Scan::Sum, _) => return running_floats::<f64>(x, axis, reverse, -0.0, f64::plus),
            (Scan::Prod, DType::F32) => {
                return running_floats::<f32>(x, axis, reverse, 1.0, f64::times);
            }
            (Scan::Prod, _) => return running_floats::<f64>(x, axis, reverse, 1.0, f64::times),
            (Scan::LogSumExp, _) => {}
        }
    }
    let meeting = accumulator(x.dtype(), out_dtype);
    let whole = !meeting.is_inexact();
    let found = match kind {
        Scan::Sum if meeting.is_complex() => running(x, axis, reverse, Complex::<f64>::plus),
        Scan::Prod if meeting.is_complex() => running(x, axis, reverse, Complex::<f64>::times),
        Scan::Sum if whole => running(x, axis, reverse, i64::plus),
        Scan::Prod if whole => running(x, axis, reverse, i64::times),
        Scan::Sum => running(x, axis, reverse, f64::plus),
        Scan::Prod => running(x, axis, reverse, f64::times),
        Scan::LogSumExp if meeting.is_complex() => {
            running(x, axis, reverse, crate::scalar::complex::log_add_exp)
        }
        Scan::LogSumExp => running(x, axis, reverse, log_add_exp),
    };
    found?.cast(out_dtype)
}

fn running<C: Compute>(
    x: &Tensor,
    axis: usize,
    reverse: bool,
    f: impl Fn(C, C) -> C,
) -> Result<Tensor> {
    along([x], axis, size(x, axis), |[lane], out: &mut [C]| {
        let mut so_far = None;
        for i in steps(lane.len(), reverse) {
            let value = so_far.map_or(lane[i], |before| f(before, lane[i]));
            out[i] = value;
            so_far = Some(value);
        }
        Ok(())
    })
}

/// Lanes that a thread takes together, one step of each in turn.
const TOGETHER: usize = 8;

/// Neighbouring lanes that a thread takes together if they are not rows.
const COLUMNS: usize = 256;

/// About how many elements one task computes.
const TASK: usize = 1 << 14;

/// The running results of floats without a change of type.
fn running_floats<T: Element>(
    x: &Tensor,
    axis: usize,
    reverse: bool,
    start: f64,
    f: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Result<Tensor> {
    check_axis(x, axis)?;
    let mut out = Tensor::empty(T::DTYPE, x.dims())?;
    if out.numel() == 0 {
        return Ok(out);
    }
    let (n, inner) = (x.dims()[axis], x.dims()[axis + 1..].iter().product::<usize>());
    let x = x.contiguous()?;
    let x = elements::<T>(&x)?;
    if inner == 1 {
        let rows = (TASK / n / TOGETHER).max(1) * TOGETHER;
        fill_chunks(out.as_mut_slice::<T>()?, rows * n, |first, out| {
            let x = &x[first..first + out.len()];
            for (x, out) in x.chunks(TOGETHER * n).zip(out.chunks_mut(TOGETHER * n)) {
                match out.len() == TOGETHER * n {
                    true => scan_rows::<T, TOGETHER>(x, out, n, reverse, start, f),
                    false => {
                        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                            scan_rows::<T, 1>(x, out, n, reverse, start, f);
                        }
                    }
                }
            }
            Ok(())
        })?;
        return Ok(out);
    }
    let strips = inner.div_ceil(COLUMNS);
    let parts = Parts::new(out.as_mut_slice::<T>()?);
    run_tasks(parts.len() / (n * inner) * strips, |task| {
        let columns = task % strips * COLUMNS..inner.min((task % strips + 1) * COLUMNS);
        vectorized(
            #[inline(always)]
            || {
                let mut so_far = [start; COLUMNS];
                for i in steps(n, reverse) {
                    let row = (task / strips * n + i) * inner;
                    let place = row + columns.start..row + columns.end;
                    // SAFETY: each column belongs to one task.
                    let out = unsafe { parts.get(place.clone()) };
                    for ((so_far, &x), out) in so_far.iter_mut().zip(&x[place]).zip(out) {
                        *so_far = f(*so_far, x.to_f64());
                        *out = T::from_f64(*so_far);
                    }
                }
            },
        );
        Ok(())
    })?;
    Ok(out)
}

/// Elements of each row that are brought beside those of the others.
const SPAN: usize = 64;

/// `K` rows of `n` elements. They are taken in spans: rows at a distance of a power of two would drive
/// each other out of the cache.
#[inline(always)]
fn scan_rows<T: Element, const K: usize>(
    x: &[T],
    out: &mut [T],
    n: usize,
    reverse: bool,
    start: f64,
    f: impl Fn(f64, f64) -> f64,
) {
    let mut so_far = [start; K];
    let mut block = [[0.0; K]; SPAN];
    for span in steps(n.div_ceil(SPAN), reverse) {
        let range = span * SPAN..n.min((span + 1) * SPAN);
        let block = &mut block[..range.len()];
        for row in 0..K {
            let from = &x[row * n..][range.clone()];
            for (block, x) in block.iter_mut().zip(from) {
                block[row] = x.to_f64();
            }
        }
        for i in steps(block.len(), reverse) {
            for (so_far, x) in so_far.iter_mut().zip(&block[i]) {
                *so_far = f(*so_far, *x);
            }
            block[i] = so_far;
        }
        for row in 0..K {
            let to = &mut out[row * n..][range.clone()];
            for (block, out) in block.iter().zip(to) {
                *out = T::from_f64(block[row]);
            }
        }
    }
}

/// `log(exp(a) + exp(b))` without overflow.
fn log_add_exp(a: f64, b: f64) -> f64 {
    let (high, low) = if a < b { (b, a) } else { (a, b) };
    if high == low && high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

/// The recurrence `h[t] = a[t] * h[t - 1] + b[t]` along `axis`, with zero before the first element;
/// from the end if `reverse`. Both have one shape and one float dtype.
pub fn linear_scan(a: &Tensor, b: &Tensor, axis: usize, reverse: bool) -> Result<Tensor> {
    if a.dims() != b.dims() {
        let (a, b) = (a.dims(), b.dims());
        return Err(Error::shape(format!("shapes {a:?} and {b:?} differ")));
    }
    let found = match b.dtype().is_complex() {
        true => recurrence::<Complex<f64>>(a, b, axis, reverse),
        false => recurrence::<f64>(a, b, axis, reverse),
    };
    found?.cast(b.dtype())
}

fn recurrence<C: Compute>(a: &Tensor, b: &Tensor, axis: usize, reverse: bool) -> Result<Tensor> {
    along([a, b], axis, size(a, axis), |[a, b]: [&[C]; 2], out: &mut [C]| {
        let mut h = None;
        for i in steps(a.len(), reverse) {
            // Nothing comes before the first element, also if its factor is infinite.
            let value = h.map_or(b[i], |before: C| a[i].times(before).plus(b[i]));
            out[i] = value;
            h = Some(value);
        }
        Ok(())
    })
}

/// Where the largest (or smallest) element so far is, as i64; the last one of equal ones. A NaN counts
/// as beyond all others.
pub fn arg_scan(max: bool, x: &Tensor, axis: usize) -> Result<Tensor> {
    match (x.dtype(), max) {
        (DType::U64, true) => positions(x, axis, |a: u64, b| a >= b),
        (DType::U64, false) => positions(x, axis, |a: u64, b| a <= b),
        (dtype, true) if dtype.is_float() => positions(x, axis, |a: f64, b| a >= b),
        (dtype, false) if dtype.is_float() => positions(x, axis, |a: f64, b| a <= b),
        (_, true) => positions(x, axis, |a: i64, b| a >= b),
        (_, false) => positions(x, axis, |a: i64, b| a <= b),
    }
}

#[allow(clippy::eq_op)]
fn positions<C: Compute>(
    x: &Tensor,
    axis: usize,
    replaces: impl Fn(C, C) -> bool,
) -> Result<Tensor> {
    along([x], axis, size(x, axis), |[lane], out: &mut [i64]| {
        let mut best = 0;
        for (i, out) in out.iter_mut().enumerate() {
            if lane[i] != lane[i] || replaces(lane[i], lane[best]) {
                best = i;
            }
            *out = best as i64;
        }
        Ok(())
    })
}

fn steps(len: usize, reverse: bool) -> impl Iterator<Item = usize> {
    (0..len).map(move |i| if reverse { len - 1 - i } else { i })
}

fn size(x: &Tensor, axis: usize) -> usize {
    x.dims().get(axis).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn vector(values: &[f64]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    #[test]
    fn every_dtype_and_layout() {
        let mut rng = Rng::new(31);
        for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_stored()) {
            let out_dtype = if dtype.is_bool() { DType::I64 } else { dtype };
            let x = rng.tensor(dtype, &[2, 5, 3]);
            let sums = scan(Scan::Sum, &rng.scramble(&x), 1, false, out_dtype).unwrap();
            let back = scan(Scan::Sum, &rng.scramble(&x), 1, true, out_dtype).unwrap();
            assert_eq!((sums.dims(), sums.dtype()), (x.dims(), out_dtype));
            for (i, j) in [(0, 0), (1, 2)] {
                let lane: Vec<f64> = (0..5).map(|k| x.get_f64(&[i, k, j]).unwrap()).collect();
                for k in 0..5 {
                    let at = |t: &Tensor| t.get_f64(&[i, k, j]).unwrap();
                    let wrap = |sum: f64| match dtype {
                        DType::U8 => f64::from(sum as i64 as u8),
                        DType::I8 => f64::from(sum as i64 as i8),
                        _ => sum,
                    };
                    assert_eq!(at(&sums), wrap(lane[..=k].iter().sum()), "{dtype}");
                    assert_eq!(at(&back), wrap(lane[k..].iter().sum()), "{dtype}");
                }
            }
        }
    }

    #[test]
    fn logarithms_of_sums() {
        let logs = |values: &[f64]| {
            scan(Scan::LogSumExp, &vector(values), 0, false, DType::F64).unwrap().to_f64s()
        };
        let infinite = f64::INFINITY;
        assert_eq!(logs(&[-infinite, -infinite, 1.0]), [-infinite, -infinite, 1.0]);
        assert_eq!(logs(&[1.0, infinite, infinite, 2.0])[1..], [infinite; 3]);
        assert_eq!(logs(&[1000.0, 1000.0])[1], 1000.0 + 2f64.ln());
        assert!(logs(&[0.0, f64::NAN, 1.0])[1..].iter().all(|y| y.is_nan()));
    }

    #[test]
    fn recurrences() {
        let (a, b) = (vector(&[f64::INFINITY, 2.0, 0.0, 3.0]), vector(&[1.0, 1.0, 5.0, 1.0]));
        assert_eq!(linear_scan(&a, &b, 0, false).unwrap().to_f64s(), [1.0, 3.0, 5.0, 16.0]);
        let a = vector(&[2.0, 2.0, 0.0, f64::INFINITY]);
        assert_eq!(linear_scan(&a, &b, 0, true).unwrap().to_f64s(), [23.0, 11.0, 5.0, 1.0]);
        assert!(linear_scan(&a, &vector(&[1.0]), 0, false).is_err());
    }

    #[test]
    fn positions_of_extremes() {
        let x = vector(&[1.0, 3.0, 3.0, f64::NAN, 5.0, f64::NAN]);
        assert_eq!(arg_scan(true, &x, 0).unwrap().to_f64s(), [0.0, 1.0, 2.0, 3.0, 3.0, 5.0]);
        let x = Tensor::from_slice(&[2i32, 1, 1, 7], &[4]).unwrap();
        assert_eq!(arg_scan(false, &x, 0).unwrap().to_f64s(), [0.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn rows_and_columns_on_any_number_of_threads_and_all_levels() {
        let mut rng = Rng::new(24);
        for dims in [[1, 1, 1], [3, 70, 300], [19, 130, 1], [40, 9, 2], [2, 0, 3]] {
            let x = rng.tensor(DType::F32, &dims);
            for axis in 0..3 {
                for reverse in [false, true] {
                    let want = scan(Scan::Sum, &x, axis, reverse, DType::F64).unwrap();
                    let want = want.cast(DType::F32).unwrap();
                    for level in crate::simd::Level::ALL {
                        let _forced = crate::simd::force(level);
                        for threads in [1, 2, 3, 8] {
                            crate::threads::set_count(threads);
                            let found = scan(Scan::Sum, &x, axis, reverse, DType::F32).unwrap();
                            assert!(found.bitwise_eq(&want), "{dims:?} {axis}");
                        }
                    }
                }
            }
        }
    }
}
