//! The Rust types behind each [`DType`], their conversions, and the macros that go from one to the
//! other.

mod complex;
mod float8;
mod narrow;

use crate::dtype::DType;
pub use float8::{f8e4m3, f8e5m2};
use half::{bf16, f16};
use narrow::{f16_to_f32, f32_to_f16, f64_to_f32_odd, i64_to_f64_odd, u64_to_f64_odd};
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that a tensor can hold. Sealed: implemented for the types of [`DType`].
///
/// Conversions never panic. A float becomes an integer by truncation, saturating at the ends of
/// the range, with NaN giving 0. An integer becomes a narrower one by wrapping. Anything becomes
/// `bool` by comparison with zero, so NaN is `true`. Of a complex number anything real takes the real part, and
/// `bool` both: whether users may do so is for ops to say.
pub trait Element:
    Copy + Send + Sync + 'static + Default + PartialEq + Debug + sealed::Sealed
{
    /// The dtype whose elements have this Rust type.
    const DTYPE: DType;

    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;

    /// This value as `f64`: exact, except for an integer beyond 2^53, which is rounded; the real part.
    fn to_f64(self) -> f64;

    /// The imaginary part.
    #[inline(always)]
    fn imaginary(self) -> f64 {
        0.0
    }

    /// The nearest value to a complex number.
    #[inline(always)]
    fn from_parts(real: f64, imaginary: f64) -> Self {
        let _ = imaginary;
        Self::from_f64(real)
    }

    /// `value` wrapped into an integer type, or rounded once to a float type.
    fn from_i64(value: i64) -> Self;

    /// This value as `i64`: exact for integers, but for a `u64` beyond the range, which wraps; saturating for
    /// floats.
    fn to_i64(self) -> i64;

    /// `value` wrapped into an integer type, or rounded once to a float type.
    #[inline(always)]
    fn from_u64(value: u64) -> Self {
        Self::from_i64(value as i64)
    }

    /// Converts to another element type without losing more than the target type must.
    #[inline(always)]
    fn convert<D: Element>(self) -> D {
        match Self::DTYPE {
            DType::U64 => D::from_u64(self.to_i64() as u64),
            own if own.is_complex() => D::from_parts(self.to_f64(), self.imaginary()),
            own if own.is_float() => D::from_f64(self.to_f64()),
            _ => D::from_i64(self.to_i64()),
        }
    }
}

macro_rules! impl_number {
    ($($type:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $type
            }
        }
    )*};
}

impl_number!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64);
impl_number!(f32 => F32, f64 => F64);

macro_rules! impl_half {
    ($($type:ty => $dtype:ident, $from_f32:path, $to_f32:path);*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from_f32(f64_to_f32_odd(value))
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from($to_f32(self))
            }

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                <Self as Element>::from_f64(i64_to_f64_odd(value))
            }

            #[inline(always)]
            fn to_i64(self) -> i64 {
                $to_f32(self) as i64
            }

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                <Self as Element>::from_f64(u64_to_f64_odd(value))
            }
        }
    )*};
}

impl_half!(f16 => F16, f32_to_f16, f16_to_f32; bf16 => BF16, bf16::from_f32, bf16::to_f32);

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;

    #[inline(always)]
    fn from_parts(real: f64, imaginary: f64) -> Self {
        real != 0.0 || imaginary != 0.0
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }

    #[inline(always)]
    fn from_i64(value: i64) -> Self {
        value != 0
    }

    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
}

/// Evaluates an expression with a type name bound to the [`Element`] type of a [`DType`].
///
/// ```
/// use fluvial_tensor::{DType, dispatch};
/// let size = dispatch!(DType::BF16, T => size_of::<T>());
/// assert_eq!(size, 2);
/// ```
///
/// The name is an alias of a concrete type, whose own methods go before those of [`Element`]: write
/// `<T as Element>::from_f64(x)` or `x.convert::<T>()`, because `f16::from_f64` of the `half` crate
/// rounds differently.
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => $crate::with_type!($T = bool, $body),
            $crate::DType::U8 => $crate::with_type!($T = u8, $body),
            $crate::DType::U16 => $crate::with_type!($T = u16, $body),
            $crate::DType::U32 => $crate::with_type!($T = u32, $body),
            $crate::DType::U64 => $crate::with_type!($T = u64, $body),
            $crate::DType::I8 => $crate::with_type!($T = i8, $body),
            $crate::DType::I16 => $crate::with_type!($T = i16, $body),
            $crate::DType::I32 => $crate::with_type!($T = i32, $body),
            $crate::DType::I64 => $crate::with_type!($T = i64, $body),
            $crate::DType::F8E4M3 => $crate::with_type!($T = $crate::f8e4m3, $body),
            $crate::DType::F8E5M2 => $crate::with_type!($T = $crate::f8e5m2, $body),
            $crate::DType::F16 => $crate::with_type!($T = $crate::f16, $body),
            $crate::DType::BF16 => $crate::with_type!($T = $crate::bf16, $body),
            $crate::DType::F32 => $crate::with_type!($T = f32, $body),
            $crate::DType::F64 => $crate::with_type!($T = f64, $body),
            $crate::DType::C64 => $crate::with_type!($T = $crate::Complex<f32>, $body),
            $crate::DType::C128 => $crate::with_type!($T = $crate::Complex<f64>, $body),
        }
    };
}

/// Like [`dispatch!`], with the nine types that arithmetic is carried out in: the name is bound to
/// the element type of [`DType::compute`].
///
/// ```
/// use fluvial_tensor::{DType, dispatch_compute};
/// let size = dispatch_compute!(DType::BF16, T => size_of::<T>());
/// assert_eq!(size, 4);
/// ```
#[macro_export]
macro_rules! dispatch_compute {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::match_compute!($dtype, $T => $body, {
            $crate::DType::C64 => $crate::with_type!($T = $crate::Complex<f32>, $body),
            $crate::DType::C128 => $crate::with_type!($T = $crate::Complex<f64>, $body),
        })
    };
}

/// Like [`dispatch_compute!`] without the complex types, for what has no meaning for them: for these the value is
/// an error, returned from the function.
#[macro_export]
macro_rules! dispatch_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::match_compute!($dtype, $T => $body, {
            complex @ ($crate::DType::C64 | $crate::DType::C128) => {
                return Err($crate::not_for_complex(complex));
            }
        })
    };
}

/// The arms of [`dispatch_compute!`] and [`dispatch_real!`] that both have, behind others.
#[doc(hidden)]
#[macro_export]
macro_rules! match_compute {
    ($dtype:expr, $T:ident => $body:expr, { $($arms:tt)* }) => {
        match $dtype {
            $($arms)*
            $crate::DType::Bool | $crate::DType::U8 => $crate::with_type!($T = u8, $body),
            $crate::DType::I8 => $crate::with_type!($T = i8, $body),
            $crate::DType::I16 | $crate::DType::U16 | $crate::DType::I32 => {
                $crate::with_type!($T = i32, $body)
            }
            $crate::DType::U32 | $crate::DType::I64 => $crate::with_type!($T = i64, $body),
            $crate::DType::U64 => $crate::with_type!($T = u64, $body),
            $crate::DType::F8E4M3
            | $crate::DType::F8E5M2
            | $crate::DType::F16
            | $crate::DType::BF16
            | $crate::DType::F32 => $crate::with_type!($T = f32, $body),
            $crate::DType::F64 => $crate::with_type!($T = f64, $body),
        }
    };
}

/// The fault of a kernel that complex numbers came to, though no op lets them.
#[doc(hidden)]
#[cold]
pub fn not_for_complex(dtype: DType) -> crate::Error {
    crate::Error::dtype(format!("this is not defined for {dtype}"))
}

/// One arm of [`dispatch!`]: the body with a type alias in front.
#[doc(hidden)]
#[macro_export]
macro_rules! with_type {
    ($T:ident = $type:ty, $body:expr) => {{
        #[allow(dead_code)]
        type $T = $type;
        $body
    }};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// `f16` has a method of the same name that rounds twice on some processors.
    fn half(value: f64) -> f16 {
        <f16 as Element>::from_f64(value)
    }

    fn brain(value: f64) -> bf16 {
        <bf16 as Element>::from_f64(value)
    }

    #[test]
    fn floats_saturate_into_integers() {
        let cases = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 300.7, -300.7, -0.9, 3.9];
        assert_eq!(cases.map(u8::from_f64), [0, 255, 0, 255, 0, 0, 3]);
        assert_eq!(cases.map(i8::from_f64), [0, 127, -128, 127, -128, 0, 3]);
        assert_eq!(cases.map(u64::from_f64), [0, u64::MAX, 0, 300, 0, 0, 3]);
        assert_eq!(cases.map(i16::from_f64), [0, 32767, -32768, 300, -300, 0, 3]);
        assert_eq!(cases.map(i32::from_f64), [0, i32::MAX, i32::MIN, 300, -300, 0, 3]);
        assert_eq!(cases.map(i64::from_f64), [0, i64::MAX, i64::MIN, 300, -300, 0, 3]);
        assert_eq!(cases.map(bool::from_f64), [true; 7]);
        assert!(!bool::from_f64(-0.0));
        assert_eq!(f16::INFINITY.convert::<i8>(), 127);
        assert_eq!(bf16::NAN.convert::<i32>(), 0);
    }

    #[test]
    fn integers_wrap_and_become_bool_by_value() {
        assert_eq!(300_i64.convert::<u8>(), 44);
        assert_eq!((-1_i8).convert::<u8>(), 255);
        assert_eq!(200_u8.convert::<i8>(), -56);
        assert_eq!((1_i64 << 40).convert::<i32>(), 0);
        assert!(256_i32.convert::<bool>());
        assert_eq!(true.convert::<f16>(), f16::ONE);
    }

    #[test]
    fn large_integers_keep_every_bit_among_integers() {
        let value = (1_i64 << 53) + 1;
        assert_eq!(value.convert::<i64>(), value);
        assert_eq!(value.convert::<f64>(), 9_007_199_254_740_992.0);
        assert_eq!(i64::MAX.convert::<f32>(), 9.223_372e18);
        assert_eq!(u64::MAX.convert::<f64>(), 2f64.powi(64));
        assert_eq!(u64::MAX.convert::<bf16>().to_f64(), 2f64.powi(64));
        assert_eq!(u64::MAX.convert::<i16>(), -1);
        assert_eq!((-1_i8).convert::<u64>(), u64::MAX);
        assert_eq!((2f64.powi(63) + 2048.0).convert::<u64>(), (1 << 63) + 2048);
        assert_eq!((-1.5f32).convert::<u64>(), 0);
    }

    #[test]
    fn narrow_floats_round_once() {
        let above_half_step = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(half(above_half_step).to_f64(), 1.0 + 2f64.powi(-10));
        assert_eq!(half(1.0 + 2f64.powi(-11)).to_f64(), 1.0);
        let above_half_step = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(brain(above_half_step).to_f64(), 1.0 + 2f64.powi(-7));
        let tie_broken_by_last_bit = (1_i64 << 62) + (1 << 54) + 1;
        assert_eq!(bf16::from_i64(tie_broken_by_last_bit).to_f64(), 2f64.powi(62) + 2f64.powi(55));
        assert_eq!(
            bf16::from_i64(-tie_broken_by_last_bit).to_f64(),
            -(2f64.powi(62) + 2f64.powi(55))
        );
        assert_eq!(half(1e300), f16::INFINITY);
        assert_eq!(brain(-1e300), bf16::NEG_INFINITY);
        assert_eq!(half(65519.0).to_f64(), 65504.0);
        assert!(half(f64::NAN).is_nan());
        assert!(brain(f64::NAN).is_nan());
        assert_eq!(half(-1e-300).to_bits(), 0x8000);
    }

    #[test]
    fn every_half_value_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(x.is_nan() || half(x.to_f64()).to_bits() == bits);
            assert!(y.is_nan() || brain(y.to_f64()).to_bits() == bits);
        }
    }

    #[test]
    fn halves_are_the_nearest_value() {
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let value = (rng.unit() - 0.5) * 2f64.powi(rng.below(40) as i32 - 25);
            let rounded = half(value);
            let error = (rounded.to_f64() - value).abs();
            for bits in [rounded.to_bits().wrapping_sub(1), rounded.to_bits().wrapping_add(1)] {
                let neighbour = f16::from_bits(bits);
                assert!(!neighbour.is_finite() || error <= (neighbour.to_f64() - value).abs());
            }
        }
    }

    #[test]
    fn dispatch_binds_the_matching_type() {
        for dtype in DType::ALL {
            assert_eq!(dispatch!(dtype, T => T::DTYPE), dtype);
            assert_eq!(dispatch!(dtype, T => size_of::<T>()), dtype.size());
            assert_eq!(dispatch_compute!(dtype, T => T::DTYPE), dtype.compute());
        }
    }
}
