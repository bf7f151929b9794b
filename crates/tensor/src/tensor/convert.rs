//! Copies in another layout or dtype.

use super::Tensor;
use crate::dispatch;
use crate::dtype::DType;
use crate::element::Element;
use crate::error::Result;
use crate::layout::gather_words;

impl Tensor {
    /// The same elements in row-major order without gaps; a clone if they lie so already.
    #[inline]
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.copy() }
    }

    /// The elements converted to another dtype, by the rules of [`Element`]; a clone if they have
    /// it already.
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let mut out = Tensor::uninit(dtype, self.layout.packed())?;
        let to = out.data_mut_ptr();
        dispatch!(self.dtype, S => dispatch!(dtype, D => {
            // SAFETY: the elements have type `S`, and the new tensor has room for as many `D`.
            unsafe { self.gather_into(to.cast::<D>(), |value: S| value.convert::<D>()) }
        }));
        Ok(out)
    }

    /// A copy of the elements in row-major order, in memory of its own.
    pub fn copy(&self) -> Result<Tensor> {
        let mut out = Tensor::uninit(self.dtype, self.layout.packed())?;
        let to = out.data_mut_ptr();
        // SAFETY: an element may be read as an unsigned integer of its size and alignment, and the
        // new tensor has room for all of them.
        unsafe {
            match self.dtype.size() {
                1 => self.gather_into(to, |bits: u8| bits),
                2 => self.gather_into(to.cast(), |bits: u16| bits),
                4 => gather_words(self.data_ptr().cast(), &self.layout, to.cast()),
                8 => self.gather_into(to.cast(), |bits: u64| bits),
                _ => self.gather_into(to.cast(), |bits: [u64; 2]| bits),
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 9] =
        [0.0, -0.0, 1.0, -1.5, 300.0, -300.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

    #[test]
    fn every_pair_of_dtypes_converts_element_by_element() {
        let source = Tensor::from_slice(&VALUES, &[3, 3]).unwrap();
        for from in DType::ALL {
            let x = source.cast(from).unwrap().transpose(0, 1).unwrap();
            for to in DType::ALL {
                let y = x.cast(to).unwrap();
                assert_eq!((y.dtype(), y.dims()), (to, x.dims()));
                dispatch!(from, S => dispatch!(to, D => {
                    let expected: Vec<D> =
                        x.to_vec::<S>().unwrap().into_iter().map(Element::convert).collect();
                    let expected = Tensor::from_vec(expected, &[3, 3]).unwrap();
                    assert!(y.bitwise_eq(&expected), "{from} to {to}: {y:?}, not {expected:?}");
                }));
            }
        }
    }

    #[test]
    fn edges_of_each_range() {
        let x = Tensor::from_slice(&VALUES, &[9]).unwrap();
        let as_i64 = |dtype: DType| -> Vec<i64> {
            x.cast(dtype).unwrap().cast(DType::I64).unwrap().to_vec().unwrap()
        };
        assert_eq!(as_i64(DType::U8), [0, 0, 1, 0, 255, 0, 0, 255, 0]);
        assert_eq!(as_i64(DType::I8), [0, 0, 1, -1, 127, -128, 0, 127, -128]);
        let (max, min) = (i64::from(i32::MAX), i64::from(i32::MIN));
        assert_eq!(as_i64(DType::I32), [0, 0, 1, -1, 300, -300, 0, max, min]);
        assert_eq!(as_i64(DType::I64), [0, 0, 1, -1, 300, -300, 0, i64::MAX, i64::MIN]);
        assert_eq!(as_i64(DType::Bool), [0, 0, 1, 1, 1, 1, 1, 1, 1]);
        for dtype in [DType::F16, DType::BF16, DType::F32] {
            let y = x.cast(dtype).unwrap().cast(DType::F64).unwrap();
            assert_eq!(y.to_f64s()[..6], VALUES[..6]);
            assert!(y.to_f64s()[1].is_sign_negative() && y.to_f64s()[6].is_nan());
            assert_eq!(y.to_f64s()[7..], VALUES[7..]);
        }
        let wide = Tensor::from_slice(&[300_i64, -1], &[2]).unwrap();
        assert_eq!(wide.cast(DType::U8).unwrap().to_vec::<u8>().unwrap(), [44, 255]);
    }

    #[test]
    fn nothing_is_copied_without_need() {
        let x = Tensor::from_slice(&VALUES, &[9]).unwrap();
        assert!(x.cast(DType::F64).unwrap().shares_storage(&x));
        assert!(x.contiguous().unwrap().shares_storage(&x));
        let back = x.slice(0, 8, 9, -1).unwrap();
        assert!(!back.contiguous().unwrap().shares_storage(&x));
    }
}
