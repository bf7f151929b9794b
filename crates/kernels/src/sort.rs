//! Order: positions of sorted elements, and what can be counted when they are sorted.
//!
//! Elements are compared as `f64` or `i64`, which hold every other type. NaN is greater than all.

mod radix;

use std::cmp::Ordering;

use fluvial_tensor::{DType, Element, Error, Result, Tensor, interrupt, memory};

use crate::lanes::along;
use radix::Sorter;

/// A number that has a place in an order.
trait Key: Element {
    fn order(&self, other: &Self) -> Ordering;
}

impl Key for f64 {
    fn order(&self, other: &f64) -> Ordering {
        self.partial_cmp(other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
    }
}

impl Key for i64 {
    fn order(&self, other: &i64) -> Ordering {
        self.cmp(other)
    }
}

impl Key for u64 {
    fn order(&self, other: &u64) -> Ordering {
        self.cmp(other)
    }
}

/// Evaluates an expression with a type name bound to the type in which elements are compared.
macro_rules! compared {
    ($dtype:expr, $T:ident => $body:expr) => {
        if $dtype.is_float() {
            type $T = f64;
            $body
        } else if $dtype == DType::U64 {
            type $T = u64;
            $body
        } else {
            type $T = i64;
            $body
        }
    };
}

/// Whether `f32` or `i32` has all numbers of the type.
fn is_short(dtype: DType) -> bool {
    dtype.size() <= 4 && dtype != DType::U32
}

/// The positions, as i64, that put the elements along `axis` in order, the greatest first if
/// `descending`. Equal elements keep their order.
///
/// ```
/// use fluvial_kernels::argsort;
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[2.0f32, f32::NAN, 1.0], &[3])?;
/// assert_eq!(argsort(&x, 0, false)?.to_vec::<i64>()?, [2, 0, 1]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn argsort(x: &Tensor, axis: usize, descending: bool) -> Result<Tensor> {
    let n = x.dims().get(axis).copied().unwrap_or_default();
    if is_short(x.dtype()) && n <= u32::MAX as usize {
        let mut sorter = Sorter::default();
        return match x.dtype().is_float() {
            true => along([x], axis, n, |[lane], out| sorter.sort::<f32>(lane, descending, out)),
            false => along([x], axis, n, |[lane], out| sorter.sort::<i32>(lane, descending, out)),
        };
    }
    let watch = interrupt::Watch::start();
    compared!(x.dtype(), T => along([x], axis, n, |[lane], out| {
        fill_positions(out);
        let order = |i: i64, j: i64| {
            watch.leave_if_over();
            T::order(&lane[i as usize], &lane[j as usize])
        };
        match descending {
            true => out.sort_by(|&i, &j| order(j, i)),
            false => out.sort_by(|&i, &j| order(i, j)),
        }
        Ok(())
    }))
}

/// The positions of the `k` greatest (or smallest) elements along `axis`, in order; the first of
/// equal ones.
pub fn top_positions(x: &Tensor, k: usize, axis: usize, largest: bool) -> Result<Tensor> {
    let n = x.dims().get(axis).copied().unwrap_or_default();
    if k > n {
        return Err(Error::argument(format!("{k} of {n} elements")));
    }
    if is_short(x.dtype()) && n <= u32::MAX as usize {
        let mut sorter = Sorter::default();
        return match x.dtype().is_float() {
            true => along([x], axis, k, |[lane], out| sorter.select::<f32>(lane, largest, out)),
            false => along([x], axis, k, |[lane], out| sorter.select::<i32>(lane, largest, out)),
        };
    }
    let mut order: Vec<i64> = Vec::new();
    compared!(x.dtype(), T => along([x], axis, k, |[lane], out| {
        let before = |&i: &i64, &j: &i64| {
            let found = T::order(&lane[i as usize], &lane[j as usize]);
            (if largest { found.reverse() } else { found }).then(i.cmp(&j))
        };
        if order.is_empty() {
            order = memory::filled(0, n)?;
        }
        fill_positions(&mut order);
        if k < n {
            order.select_nth_unstable_by(k, before);
        }
        out.copy_from_slice(&order[..k]);
        out.sort_unstable_by(before);
        Ok(())
    }))
}

fn fill_positions(out: &mut [i64]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = i as i64);
}

/// The different elements of `x`, in order: where each occurs first (counted in row-major order),
/// the number of the own one for each element, and how often each occurs. All i64. Each NaN is an element of its own.
pub fn unique(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let flat = x.reshape(&[x.numel()])?;
    let order = argsort(&flat, 0, false)?.to_vec::<i64>()?;
    let (mut first, mut counts) = (Vec::new(), Vec::new());
    let mut inverse = memory::filled(0i64, order.len())?;
    compared!(x.dtype(), T => {
        let values = flat.cast(T::DTYPE)?.to_vec::<T>()?;
        let mut before: Option<T> = None;
        for position in order {
            let value = values[position as usize];
            // NaN is nothing's equal, not even its own.
            if before != Some(value) {
                memory::push(&mut first, position)?;
                memory::push(&mut counts, 0i64)?;
            }
            before = Some(value);
            if let Some(count) = counts.last_mut() {
                *count += 1;
            }
            inverse[position as usize] = counts.len() as i64 - 1;
        }
    });
    let n = first.len();
    Ok((
        Tensor::from_vec(first, &[n])?,
        Tensor::from_vec(inverse, x.dims())?,
        Tensor::from_vec(counts, &[n])?,
    ))
}

/// How many elements of each sorted lane (along the last axis) are less than each of the values; less
/// or equal, if `right`. As i64.
pub fn searchsorted(sorted: &Tensor, values: &Tensor, right: bool) -> Result<Tensor> {
    let Some(axis) = sorted.rank().checked_sub(1) else {
        return Err(Error::shape("a single element is not a sorted axis"));
    };
    let (n, m) = (sorted.dims()[axis], values.dims().last().copied().unwrap_or_default());
    let alike = values.rank() == sorted.rank() && values.dims()[..axis] == sorted.dims()[..axis];
    if !alike {
        let (sorted, values) = (sorted.dims(), values.dims());
        return Err(Error::shape(format!("values of shape {values:?} among {sorted:?}")));
    }
    let dtype = sorted.dtype().promote(values.dtype());
    compared!(dtype, T => along([sorted, values], axis, m, |[sorted, values], out| {
        debug_assert_eq!(sorted.len(), n);
        for (out, value) in out.iter_mut().zip(values) {
            let before = |x: &T| match x.order(value) {
                Ordering::Less => true,
                Ordering::Equal => right,
                Ordering::Greater => false,
            };
            *out = sorted.partition_point(before) as i64;
        }
        Ok(())
    }))
}

/// How often each number from 0 up occurs in `x`, or the sum of the weights of its occurrences; at least
/// `minlength` of them. Weights are added in `f64`.
pub fn bincount(x: &Tensor, weights: Option<&Tensor>, minlength: usize) -> Result<Tensor> {
    let numbers = x.cast(DType::I64)?.to_vec::<i64>()?;
    if let Some(negative) = numbers.iter().find(|&&number| number < 0) {
        return Err(Error::index(format!("{negative} cannot be counted: it is negative")));
    }
    let len = numbers.iter().max().map_or(0, |&most| most as usize + 1).max(minlength);
    let Some(weights) = weights else {
        let mut counts = Tensor::zeros(DType::I64, &[len])?;
        let out = counts.as_mut_slice::<i64>()?;
        numbers.iter().for_each(|&number| out[number as usize] += 1);
        return Ok(counts);
    };
    if weights.dims() != x.dims() {
        let (weights, x) = (weights.dims(), x.dims());
        return Err(Error::shape(format!("weights of shape {weights:?} for {x:?}")));
    }
    let mut sums = Tensor::zeros(DType::F64, &[len])?;
    let out = sums.as_mut_slice::<f64>()?;
    let pairs = numbers.iter().zip(weights.cast(DType::F64)?.to_vec::<f64>()?);
    pairs.for_each(|(&number, weight)| out[number as usize] += weight);
    sums.cast(weights.dtype())
}

/// How many elements lie in each of `bins` equal parts of the range. A part takes its lower end, the
/// last one its upper end, too. Elements outside, and NaN, are not counted.
pub fn histogram(x: &Tensor, bins: usize, low: f64, high: f64) -> Result<Tensor> {
    if bins == 0 || !(low < high && (high - low).is_finite()) {
        return Err(Error::argument(format!("no {bins} parts from {low} to {high}")));
    }
    let edge =
        |i: usize| if i == bins { high } else { low + (high - low) * i as f64 / bins as f64 };
    let mut counts = Tensor::zeros(DType::I64, &[bins])?;
    let out = counts.as_mut_slice::<i64>()?;
    for value in x
        .cast(DType::F64)?
        .to_vec::<f64>()?
        .into_iter()
        .filter(|value| (low..=high).contains(value))
    {
        let mut bin = ((value - low) / (high - low) * bins as f64) as usize;
        // Rounding may have led next door.
        bin = bin.min(bins - 1);
        if value < edge(bin) {
            bin -= 1;
        } else if bin + 1 < bins && value >= edge(bin + 1) {
            bin += 1;
        }
        out[bin] += 1;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn vector(values: &[f64]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    fn whole(x: &Tensor) -> Vec<i64> {
        x.to_vec::<i64>().unwrap()
    }

    #[test]
    fn sorting_is_stable_in_every_dtype_and_layout() {
        let mut rng = Rng::new(41);
        for dtype in
            DType::ALL.into_iter().filter(|dtype| !dtype.is_complex() && !dtype.is_stored())
        {
            let x = rng.tensor(dtype, &[3, 50]);
            for descending in [false, true] {
                let order = argsort(&rng.scramble(&x), 1, descending).unwrap();
                let (x, order) = (x.to_f64s(), whole(&order));
                for (lane, order) in x.chunks(50).zip(order.chunks(50)) {
                    for pair in order.windows(2) {
                        let (a, b) = (lane[pair[0] as usize], lane[pair[1] as usize]);
                        let before = if descending { a > b } else { a < b };
                        assert!(before || (a == b && pair[0] < pair[1]), "{dtype} {a} {b}");
                    }
                }
            }
            let top = top_positions(&x, 7, 1, true).unwrap();
            let sorted = argsort(&x, 1, true).unwrap().slice(1, 0, 7, 1).unwrap();
            assert_eq!(whole(&top), whole(&sorted), "{dtype}");
            let low = top_positions(&x, 50, 1, false).unwrap();
            assert_eq!(whole(&low), whole(&argsort(&x, 1, false).unwrap()), "{dtype}");
        }
    }

    #[test]
    fn nan_is_greatest() {
        let x = vector(&[f64::NAN, 1.0, f64::INFINITY, f64::NAN]);
        assert_eq!(whole(&argsort(&x, 0, false).unwrap()), [1, 2, 0, 3]);
        assert_eq!(whole(&argsort(&x, 0, true).unwrap()), [0, 3, 2, 1]);
        assert_eq!(whole(&top_positions(&x, 1, 0, true).unwrap()), [0]);
        let (first, inverse, counts) = unique(&x).unwrap();
        assert_eq!((whole(&first), whole(&inverse)), (vec![1, 2, 0, 3], vec![2, 0, 1, 3]));
        assert_eq!(whole(&counts), [1, 1, 1, 1]);
        let places = searchsorted(&vector(&[1.0, f64::NAN]), &x, false).unwrap();
        assert_eq!(whole(&places), [1, 0, 1, 1]);
        assert!(top_positions(&x, 5, 0, true).is_err());
    }

    #[test]
    fn large_integers_are_told_apart() {
        let x = Tensor::from_slice(&[i64::MAX, i64::MAX - 1, i64::MIN], &[3]).unwrap();
        assert_eq!(whole(&argsort(&x, 0, false).unwrap()), [2, 1, 0]);
        assert_eq!(whole(&unique(&x).unwrap().2), [1, 1, 1]);
        let x = Tensor::from_slice(&[u64::MAX, 1, u64::MAX - 1], &[3]).unwrap();
        assert_eq!(whole(&argsort(&x, 0, false).unwrap()), [1, 2, 0]);
        let x = Tensor::from_slice(&[u32::MAX, 1, 1 << 31], &[3]).unwrap();
        assert_eq!(whole(&argsort(&x, 0, true).unwrap()), [0, 2, 1]);
        assert_eq!(whole(&top_positions(&x, 1, 0, true).unwrap()), [0]);
    }

    #[test]
    fn searching_lane_by_lane() {
        let sorted = Tensor::from_slice(&[1.0, 2.0, 2.0, 0.0, 5.0, 6.0], &[2, 3]).unwrap();
        let values = Tensor::from_slice(&[2i64, 9, 5, 0], &[2, 2]).unwrap();
        assert_eq!(whole(&searchsorted(&sorted, &values, false).unwrap()), [1, 3, 1, 0]);
        assert_eq!(whole(&searchsorted(&sorted, &values, true).unwrap()), [3, 3, 2, 1]);
        assert!(searchsorted(&sorted, &vector(&[1.0]), true).is_err());
        let none = Tensor::zeros(DType::F64, &[0]).unwrap();
        assert_eq!(whole(&searchsorted(&none, &vector(&[1.0]), true).unwrap()), [0]);
    }

    #[test]
    fn counting() {
        let x = Tensor::from_slice(&[1i64, 3, 1, 0], &[4]).unwrap();
        assert_eq!(whole(&bincount(&x, None, 0).unwrap()), [1, 2, 0, 1]);
        assert_eq!(whole(&bincount(&x, None, 6).unwrap()), [1, 2, 0, 1, 0, 0]);
        let sums = bincount(&x, Some(&vector(&[0.5, 1.0, 0.25, 2.0])), 0).unwrap();
        assert_eq!(sums.to_f64s(), [2.0, 0.75, 0.0, 1.0]);
        assert!(bincount(&Tensor::scalar(-1i64), None, 0).is_err());
        assert!(bincount(&x, Some(&vector(&[1.0])), 0).is_err());
        let x = vector(&[0.0, 0.3, 0.1, 1.0, 0.7, -0.1, 1.1, f64::NAN, 0.6]);
        assert_eq!(whole(&histogram(&x, 10, 0.0, 1.0).unwrap()), [1, 1, 0, 1, 0, 0, 1, 1, 0, 1]);
        assert!(histogram(&x, 0, 0.0, 1.0).is_err() && histogram(&x, 2, 1.0, 1.0).is_err());
    }
}
