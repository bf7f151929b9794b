//! Softmax and its logarithm along an axis.

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

use crate::copy::check_axis;
use crate::scalar::float::{Float, larger};
use crate::strided::View;

/// What [`softmax`] computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Softmax {
    /// `exp(x) / sum(exp(x))`.
    Plain,
    /// `x - log(sum(exp(x)))`.
    Log,
}

/// Softmax of floats along `axis`, or its logarithm, computed from the distance to the largest element
/// so that nothing overflows. Sums are in `f64`, half floats are computed in `f32`. A NaN, positive
/// infinity, or nothing but negative infinity along the axis gives NaN for all its elements.
///
/// ```
/// use fluvial_kernels::{Softmax, softmax};
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[1000.0f32, 1000.0, 7.0, 7.0], &[2, 2])?;
/// assert_eq!(softmax(Softmax::Plain, &x, 1)?.to_vec::<f32>()?, [0.5; 4]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn softmax(kind: Softmax, x: &Tensor, axis: usize) -> Result<Tensor> {
    check_axis(x, axis)?;
    if !x.dtype().is_float() {
        return Err(Error::dtype(format!("softmax of {} elements", x.dtype())));
    }
    let compute = x.dtype().compute();
    let mut out = Tensor::empty(compute, x.dims())?;
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let n = x.dims()[axis];
    if out.numel() > 0 {
        let view = View::new(x);
        match compute {
            DType::F64 => slabs::<f64>(kind, &view, n, inner, out.as_mut_slice()?),
            _ => slabs::<f32>(kind, &view, n, inner, out.as_mut_slice()?),
        }
    }
    out.cast(x.dtype())
}

/// Goes through the slabs of `n` rows of `inner` columns; the columns are normalised.
fn slabs<C: Float>(kind: Softmax, x: &View<'_>, n: usize, inner: usize, out: &mut [C]) {
    let mut columns = Columns::new(inner);
    for (i, out) in out.chunks_exact_mut(n * inner).enumerate() {
        x.copy_to(i * n * inner, out);
        match inner {
            1 => one_row(kind, out),
            _ => columns.normalise(kind, out),
        }
    }
}

/// Normalises elements that lie one after the other.
fn one_row<C: Float>(kind: Softmax, row: &mut [C]) {
    let largest = row.iter().fold(-C::INFINITY, |a, &b| larger(a, b));
    let mut total = 0.0;
    for x in row.iter_mut() {
        *x = *x - largest;
        let power = x.exp();
        total += power.to_f64();
        if kind == Softmax::Plain {
            *x = power;
        }
    }
    match kind {
        Softmax::Plain => {
            let scale = C::from_f64(total);
            row.iter_mut().for_each(|x| *x = *x / scale);
        }
        Softmax::Log => {
            let log = C::from_f64(total.ln());
            row.iter_mut().for_each(|x| *x = *x - log);
        }
    }
}

/// The largest elements and the sums of neighbouring columns.
struct Columns<C> {
    largest: SmallVec<[C; 64]>,
    total: SmallVec<[f64; 64]>,
}

impl<C: Float> Columns<C> {
    fn new(count: usize) -> Columns<C> {
        Columns {
            largest: SmallVec::from_elem(C::ZERO, count),
            total: SmallVec::from_elem(0.0, count),
        }
    }

    /// Normalises the columns of a slab.
    fn normalise(&mut self, kind: Softmax, slab: &mut [C]) {
        let count = self.largest.len();
        self.largest.fill(-C::INFINITY);
        self.total.fill(0.0);
        for row in slab.chunks_exact(count) {
            self.largest.iter_mut().zip(row).for_each(|(a, &b)| *a = larger(*a, b));
        }
        for row in slab.chunks_exact_mut(count) {
            for ((x, &largest), total) in row.iter_mut().zip(&self.largest).zip(&mut self.total) {
                *x = *x - largest;
                let power = x.exp();
                *total += power.to_f64();
                if kind == Softmax::Plain {
                    *x = power;
                }
            }
        }
        if kind == Softmax::Log {
            self.total.iter_mut().for_each(|total| *total = total.ln());
        }
        for row in slab.chunks_exact_mut(count) {
            for (x, &total) in row.iter_mut().zip(&self.total) {
                let total = C::from_f64(total);
                *x = if kind == Softmax::Plain { *x / total } else { *x - total };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn every_axis_is_the_last_one_moved() {
        let mut rng = Rng::new(31);
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let x = rng.tensor(dtype, &[2, 3, 4]);
            let x = rng.scramble(&x);
            for kind in [Softmax::Plain, Softmax::Log] {
                for axis in 0..3 {
                    let moved = softmax(kind, &x.transpose(axis, 2).unwrap(), 2).unwrap();
                    let found = softmax(kind, &x, axis).unwrap();
                    assert!(found.bitwise_eq(&moved.transpose(axis, 2).unwrap()));
                }
            }
        }
    }

    #[test]
    fn rows_without_a_finite_largest_element_are_nan() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        for row in [[low, low], [high, 0.0], [f64::NAN, 0.0]] {
            for dims in [&[1, 2, 1][..], &[2, 1]] {
                let x = Tensor::from_slice(&row, dims).unwrap();
                let found = softmax(Softmax::Plain, &x, dims.len() - 2).unwrap().to_f64s();
                assert!(found.iter().all(|x| x.is_nan()), "{row:?}");
            }
        }
        let x = Tensor::from_slice(&[low, 3.0], &[2]).unwrap();
        assert_eq!(softmax(Softmax::Plain, &x, 0).unwrap().to_f64s(), [0.0, 1.0]);
        assert_eq!(softmax(Softmax::Log, &x, 0).unwrap().to_f64s(), [low, 0.0]);
    }

    #[test]
    fn faults() {
        let x = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
        assert_eq!(softmax(Softmax::Plain, &x, 1).unwrap().dims(), [2, 0]);
        assert!(softmax(Softmax::Plain, &x, 2).is_err());
        assert!(softmax(Softmax::Plain, &Tensor::scalar(1.0f32), 0).is_err());
        assert!(softmax(Softmax::Log, &x.cast(DType::I64).unwrap(), 0).is_err());
    }
}
