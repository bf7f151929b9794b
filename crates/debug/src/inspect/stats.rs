//! Numbers about the elements.

use fluvial_core::{Element, Result, Tensor, Value};
use fluvial_tensor::dispatch;

use super::blocks::each_block;

/// What is to be said of the elements of a tensor, or of all tensors of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// How many there are.
    pub count: usize,
    /// How many are NaN.
    pub nan: usize,
    /// How many are infinite.
    pub inf: usize,
    /// How many are other than zero.
    pub nonzero: usize,
    /// The mean of the finite ones; zero if there is none, and so are the next three.
    pub mean: f64,
    /// How far they are from the mean: the root of the mean square.
    pub sd: f64,
    /// The smallest finite one.
    pub min: f64,
    /// The greatest finite one.
    pub max: f64,
}

impl Stats {
    /// Looks at all elements, twice. An error if there is no memory for a small part of a tensor that is not in order.
    pub fn of(value: &Value) -> Result<Stats> {
        let mut first = First { min: f64::INFINITY, max: f64::NEG_INFINITY, ..First::default() };
        each_tensor(value, &mut |tensor| dispatch!(tensor.dtype(), T => first.add::<T>(tensor)))?;
        let finite = first.count - first.nan - first.inf;
        let mut stats = Stats {
            count: first.count,
            nan: first.nan,
            inf: first.inf,
            nonzero: first.nonzero,
            ..Stats::default()
        };
        if finite == 0 {
            return Ok(stats);
        }
        // The sum of large numbers may be infinite where the mean is not.
        let scale = if first.sum.is_finite() { 1.0 } else { 1.0 / finite as f64 };
        if scale != 1.0 {
            first.sum = 0.0;
            each_tensor(value, &mut |tensor| {
                dispatch!(tensor.dtype(), T => first.sum += scaled_sum::<T>(tensor, scale));
            })?;
        }
        stats.mean = if scale == 1.0 { first.sum / finite as f64 } else { first.sum };
        (stats.min, stats.max) = (first.min, first.max);
        // Squares of large and of tiny numbers are out of range, too, unless they are scaled.
        let largest = first.max.abs().max(first.min.abs());
        let unit = if (1e-150..=1e150).contains(&largest) { 1.0 } else { largest };
        let mut squares = 0.0;
        if unit > 0.0 {
            each_tensor(value, &mut |tensor| {
                dispatch!(tensor.dtype(), T => {
                    squares += sum_of_squares::<T>(tensor, stats.mean, unit);
                });
            })?;
        }
        stats.sd = (squares / finite as f64).sqrt() * unit;
        Ok(stats)
    }

    /// How many elements are finite.
    pub fn finite(&self) -> usize {
        self.count - self.nan - self.inf
    }
}

#[derive(Default)]
struct First {
    count: usize,
    nan: usize,
    inf: usize,
    nonzero: usize,
    sum: f64,
    min: f64,
    max: f64,
}

impl First {
    fn add<T: Element>(&mut self, tensor: &Tensor) {
        for part in tensor.as_slice::<T>().unwrap_or_default().chunks(1024) {
            let mut sum = 0.0;
            let (mut nan, mut inf, mut nonzero) = (0, 0, 0);
            for x in part {
                let x = x.to_f64();
                let is_finite = x.is_finite();
                nan += usize::from(x.is_nan());
                inf += usize::from(x.is_infinite());
                nonzero += usize::from(x != 0.0);
                sum += if is_finite { x } else { 0.0 };
                self.min = if is_finite && x < self.min { x } else { self.min };
                self.max = if is_finite && x > self.max { x } else { self.max };
            }
            self.count += part.len();
            self.nan += nan;
            self.inf += inf;
            self.nonzero += nonzero;
            self.sum += sum;
        }
    }
}

fn finite<T: Element>(tensor: &Tensor) -> impl Iterator<Item = f64> {
    let elements = tensor.as_slice::<T>().unwrap_or_default();
    elements.iter().map(|x| x.to_f64()).filter(|x| x.is_finite())
}

fn scaled_sum<T: Element>(tensor: &Tensor, scale: f64) -> f64 {
    finite::<T>(tensor).map(|x| x * scale).sum()
}

fn sum_of_squares<T: Element>(tensor: &Tensor, mean: f64, unit: f64) -> f64 {
    let far = |x: f64| x / unit - mean / unit;
    finite::<T>(tensor).map(|x| far(x) * far(x)).sum()
}

/// Calls `f` with contiguous parts of all tensors of a value.
fn each_tensor(value: &Value, f: &mut dyn FnMut(&Tensor)) -> Result<()> {
    match value {
        Value::Tensor(_) | Value::Device(_) => {
            each_block(value.tensor()?, &mut |block| {
                f(block);
                true
            })?;
        }
        Value::List(list) => {
            for element in list.iter() {
                each_tensor(element, f)?;
            }
        }
        Value::Channel(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fluvial_core::DType;

    use super::*;

    fn of(elements: &[f64]) -> Stats {
        Stats::of(&Tensor::from_f64s(DType::F64, elements, &[elements.len()]).unwrap().into())
            .unwrap()
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let stats = of(&[1.0, f64::NAN, 3.0, f64::INFINITY, 0.0, f64::NEG_INFINITY]);
        assert_eq!((stats.count, stats.nan, stats.inf, stats.finite()), (6, 1, 2, 3));
        assert_eq!((stats.min, stats.max, stats.nonzero), (0.0, 3.0, 5));
        assert!((stats.mean - 4.0 / 3.0).abs() < 1e-12);
        assert!((stats.sd - (14.0f64 / 9.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn numbers_at_the_ends_of_the_range() {
        let large = of(&[1.5e308, 1.7e308]);
        assert!((large.mean / 1.6e308 - 1.0).abs() < 1e-12);
        assert!((large.sd / 1e307 - 1.0).abs() < 1e-9, "{}", large.sd);
        let tiny = of(&[1e-200, 3e-200]);
        assert!((tiny.sd / 1e-200 - 1.0).abs() < 1e-9, "{}", tiny.sd);
        assert_eq!(of(&[0.0, 0.0]).sd, 0.0);
        assert_eq!(of(&[]), Stats::default());
    }
}
