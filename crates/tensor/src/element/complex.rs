//! Complex numbers as elements.

use num_complex::Complex;

use super::{Element, sealed};
use crate::dtype::DType;

macro_rules! impl_complex {
    ($($part:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for Complex<$part> {}
        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                Complex::new(value as $part, 0.0)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self.re)
            }

            #[inline(always)]
            fn imaginary(self) -> f64 {
                f64::from(self.im)
            }

            #[inline(always)]
            fn from_parts(real: f64, imaginary: f64) -> Self {
                Complex::new(real as $part, imaginary as $part)
            }

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                Complex::new(value as $part, 0.0)
            }

            #[inline(always)]
            fn to_i64(self) -> i64 {
                self.re as i64
            }

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                Complex::new(value as $part, 0.0)
            }
        }
    )*};
}

impl_complex!(f32 => C64, f64 => C128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_among_complex_numbers_and_the_real_one_else() {
        let z = Complex::new(1.5f64, -2.25);
        assert_eq!(z.convert::<Complex<f32>>(), Complex::new(1.5f32, -2.25));
        assert_eq!(z.convert::<Complex<f32>>().convert::<Complex<f64>>(), z);
        assert_eq!((z.convert::<f64>(), z.convert::<i32>()), (1.5, 1));
        assert_eq!(3i64.convert::<Complex<f32>>(), Complex::new(3.0, 0.0));
        assert_eq!(u64::MAX.convert::<Complex<f64>>(), Complex::new(2f64.powi(64), 0.0));
        assert!(Complex::new(0.0f32, 1.0).convert::<bool>());
        assert!(!Complex::new(-0.0f32, 0.0).convert::<bool>());
    }
}
