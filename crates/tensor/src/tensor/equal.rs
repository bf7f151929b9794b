//! Equality of bits.

use super::Tensor;
use crate::dispatch;
use crate::storage::Inline;

impl Tensor {
    /// Whether dtype, sizes and the bits of all elements are equal: NaN equals the same NaN, and 0
    /// does not equal -0. Layouts may differ.
    pub fn bitwise_eq(&self, other: &Tensor) -> bool {
        if self.dtype != other.dtype || self.dims() != other.dims() {
            return false;
        }
        if let (Some(a), Some(b)) = (self.as_bytes(), other.as_bytes()) {
            return a == b;
        }
        let repeats_one = |x: &Tensor| x.strides().iter().all(|&stride| stride == 0);
        if self.numel() > 0 && repeats_one(self) && repeats_one(other) {
            // One element, however often it is repeated.
            let first = |x: &Tensor| dispatch!(x.dtype, T => x.elements::<T>().next().map(|e| Inline::of(e).0));
            return first(self) == first(other);
        }
        dispatch!(self.dtype, T => {
            let mut pairs = self.elements::<T>().zip(other.elements::<T>());
            pairs.all(|(a, b)| Inline::of(a).0 == Inline::of(b).0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn bits_count_and_layout_does_not() {
        let x = Tensor::from_slice(&[f32::NAN, 0.0, 1.0, 2.0], &[2, 2]).unwrap();
        let y = x.transpose(0, 1).unwrap().contiguous().unwrap().transpose(0, 1).unwrap();
        assert!(!y.is_contiguous());
        assert!(x.bitwise_eq(&x) && x.bitwise_eq(&y) && y.bitwise_eq(&y));
        let z = Tensor::from_slice(&[f32::NAN, -0.0, 1.0, 2.0], &[2, 2]).unwrap();
        assert!(!x.bitwise_eq(&z) && !y.bitwise_eq(&z));
        assert!(!x.bitwise_eq(&x.reshape(&[4]).unwrap()));
        let huge = |x: f32| Tensor::scalar(x).expand(&[1 << 20, 1 << 30]).unwrap();
        assert!(huge(f32::NAN).bitwise_eq(&huge(f32::NAN)) && !huge(0.0).bitwise_eq(&huge(-0.0)));
        let zeros = |dtype| Tensor::zeros(dtype, &[0]).unwrap();
        assert!(zeros(DType::F32).bitwise_eq(&zeros(DType::F32)));
        assert!(!zeros(DType::F32).bitwise_eq(&zeros(DType::I32)));
    }
}
