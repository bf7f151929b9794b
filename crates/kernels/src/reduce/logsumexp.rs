//! The logarithm of a sum of exponentials.

use fluvial_tensor::{DType, MAX_RANK, Result, Tensor};
use smallvec::SmallVec;

use super::{Reduce, reduce};
use crate::scalar::{Body, S};

/// `log(sum(exp(x)))` over `axes`, which are dropped from the shape, without overflow; -inf for no
/// elements. It is computed in `f64` if `out_dtype` is that, else in `f32`.
pub fn logsumexp(x: &Tensor, axes: &[usize], out_dtype: DType) -> Result<Tensor> {
    let compute = out_dtype.promote(DType::F32);
    let x = x.cast(compute)?;
    if axes.iter().any(|&axis| x.dims().get(axis) == Some(&0)) {
        let zeros = reduce(Reduce::Sum, &x, axes, compute)?;
        return Tensor::scalar(f64::NEG_INFINITY).cast(out_dtype)?.expand(zeros.dims());
    }
    let greatest = reduce(Reduce::Max, &x, axes, compute)?;
    let mut kept: SmallVec<[usize; MAX_RANK]> = x.dims().into();
    axes.iter().for_each(|&axis| kept[axis] = 1);
    let mut powers = Tensor::empty(compute, x.dims())?;
    Body::binary(|x, greatest| (x - level(greatest)).exp()).run(
        &[&x, &greatest.reshape(&kept)?],
        &[],
        compute,
        &mut powers,
    )?;
    let sums = reduce(Reduce::Sum, &powers, axes, compute)?;
    let mut logs = Tensor::empty(compute, sums.dims())?;
    Body::binary(|sum, greatest| sum.log() + level(greatest)).run(
        &[&sums, &greatest],
        &[],
        compute,
        &mut logs,
    )?;
    logs.cast(out_dtype)
}

/// What is subtracted from the exponents. From an infinite one nothing is left.
fn level(greatest: S<'_>) -> S<'_> {
    greatest.is_inf().select(0.0, greatest)
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
    }
}
