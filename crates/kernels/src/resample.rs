//! Resampling of one axis: each new element is a weighted sum of a few old ones.

use fluvial_tensor::{Error, Result, Tensor, dispatch_real, interrupt, memory};
use smallvec::SmallVec;

use crate::copy::check_axis;
use crate::scalar::compute::Compute;

/// So many new elements are made before somebody looks for an interrupt.
const STRETCH: usize = 1 << 12;

/// Which old elements make each new one, with their weights.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Where the taps of each new element end.
    ends: Vec<usize>,
    /// Old positions and weights.
    taps: Vec<(usize, f64)>,
}

impl Taps {
    /// No new elements yet, and room for so many.
    pub fn reserved(len: usize) -> Result<Taps> {
        Ok(Taps { ends: memory::reserved(len)?, taps: memory::reserved(len)? })
    }

    /// Adds a new element, made of these old positions with these weights.
    pub fn push(
        &mut self,
        taps: impl IntoIterator<Item = (usize, f64), IntoIter: ExactSizeIterator>,
    ) -> Result<()> {
        if self.ends.len() % STRETCH == STRETCH - 1 {
            interrupt::check()?;
        }
        let taps = taps.into_iter();
        if taps.len() > STRETCH {
            drop(memory::reserved::<(usize, f64)>(self.taps.len().saturating_add(taps.len()))?);
        }
        taps.into_iter().try_for_each(|tap| memory::push(&mut self.taps, tap))?;
        memory::push(&mut self.ends, self.taps.len())
    }

    /// The number of new elements.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no new elements.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// New elements with their taps.
    fn each(&self) -> impl Iterator<Item = (usize, &[(usize, f64)])> {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        self.ends.iter().enumerate().map(move |(i, &end)| (i, &self.taps[start(i)..end]))
    }

    fn check(&self, size: usize) -> Result<()> {
        match self.taps.iter().find(|(position, _)| *position >= size) {
            None => Ok(()),
            Some((position, _)) => {
                Err(Error::internal(format!("a tap at {position} is beyond the size {size}")))
            }
        }
    }
}

/// Resamples an axis.
///
/// ```
/// use fluvial_kernels::{Taps, resample};
/// use fluvial_tensor::Tensor;
///
/// let x = Tensor::from_slice(&[1.0f32, 3.0], &[2])?;
/// let mut taps = Taps::default();
/// taps.push([(0, 1.0)])?;
/// taps.push([(0, 0.5), (1, 0.5)])?;
/// assert_eq!(resample(&x, 0, &taps)?.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn resample(x: &Tensor, axis: usize, taps: &Taps) -> Result<Tensor> {
    check_axis(x, axis)?;
    taps.check(x.dims()[axis])?;
    sum_taps(x, axis, taps.len(), taps, false)
}

/// The adjoint of [`resample`]: adds each element to the old ones that made it; the axis gets this size.
pub fn resample_adjoint(y: &Tensor, axis: usize, taps: &Taps, size: usize) -> Result<Tensor> {
    check_axis(y, axis)?;
    taps.check(size)?;
    if y.dims()[axis] != taps.len() {
        let (found, expected) = (y.dims()[axis], taps.len());
        return Err(Error::shape(format!("{found} elements where {expected} were resampled")));
    }
    sum_taps(y, axis, size, taps, true)
}

fn sum_taps(x: &Tensor, axis: usize, size: usize, taps: &Taps, adjoint: bool) -> Result<Tensor> {
    let dtype = x.dtype();
    let mut dims: SmallVec<[usize; 8]> = x.dims().into();
    let (old, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    dims[axis] = size;
    let mut out = Tensor::zeros(dtype.compute(), &dims)?;
    let x = x.cast(dtype.compute())?.contiguous()?;
    if out.numel() == 0 || x.numel() == 0 {
        return out.cast(dtype);
    }
    dispatch_real!(dtype, C => {
        let x = x.as_slice::<C>().unwrap_or_default();
        let outs = out.as_mut_slice::<C>()?.chunks_exact_mut(size * inner);
        for (out, x) in outs.zip(x.chunks_exact(old * inner)) {
            for (new, taps) in taps.each() {
                for &(position, weight) in taps {
                    let (to, from) = if adjoint { (position, new) } else { (new, position) };
                    add_scaled::<C>(
                        &mut out[to * inner..][..inner],
                        &x[from * inner..][..inner],
                        weight,
                    );
                }
            }
        }
    });
    out.cast(dtype)
}

fn add_scaled<T: Compute>(out: &mut [T], x: &[T], by: f64) {
    if by == 1.0 {
        out.iter_mut().zip(x).for_each(|(sum, &x)| *sum = sum.plus(x));
        return;
    }
    let by = T::from_f64(by);
    out.iter_mut().zip(x).for_each(|(sum, &x)| *sum = sum.plus(x.times(by)));
}

#[cfg(test)]
mod tests {
    use fluvial_tensor::DType;

    use super::*;
    use crate::testing::Rng;

    #[test]
    fn resampling_and_its_adjoint() {
        let mut rng = Rng::new(51);
        let mut taps = Taps::default();
        taps.push([(2, 0.5), (0, -0.25)]).unwrap();
        taps.push([]).unwrap();
        taps.push([(1, 1.0), (1, 1.0)]).unwrap();
        taps.push([(2, 2.0)]).unwrap();
        assert!(taps.len() == 4 && !taps.is_empty());
        let dot = |a: &Tensor, b: &Tensor| -> f64 {
            a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
        };
        for (old, new, axis) in [([3, 2], [4, 2], 0), ([2, 3], [2, 4], 1)] {
            let (x, y) = (rng.tensor(DType::F64, &old), rng.tensor(DType::F64, &new));
            let made = resample(&rng.scramble(&x), axis, &taps).unwrap();
            let back = resample_adjoint(&rng.scramble(&y), axis, &taps, 3).unwrap();
            assert_eq!((made.dims(), back.dims()), (&new[..], &old[..]));
            assert_eq!(dot(&made, &y), dot(&x, &back));
        }
        assert!(resample(&rng.tensor(DType::F64, &[2]), 0, &taps).is_err());
        assert!(resample_adjoint(&rng.tensor(DType::F64, &[3]), 0, &taps, 3).is_err());
    }
}
