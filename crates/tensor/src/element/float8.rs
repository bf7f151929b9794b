//! Floats of 8 bits, which only store numbers. Their conversions round once, to nearest and ties to even.

use super::narrow::{i64_to_f64_odd, u64_to_f64_odd};
use super::{Element, sealed};
use crate::dtype::DType;

/// 4 bits of exponent, 3 of mantissa: up to 448, which also stands for all that is larger; no infinities.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, Debug)]
#[repr(transparent)]
pub struct f8e4m3(u8);

/// 5 bits of exponent, 2 of mantissa: up to 57344. What is larger becomes an infinity.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, Debug)]
#[repr(transparent)]
pub struct f8e5m2(u8);

macro_rules! impl_float8 {
    ($($type:ident $dtype:ident: $mantissa:literal bits, bias $bias:literal, finite below $overflow:literal, most $most:literal;)*) => {$(
        impl $type {
            /// The number of these bits.
            pub const fn from_bits(bits: u8) -> $type {
                $type(bits)
            }

            /// The bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Whether it is not a number.
            pub fn is_nan(self) -> bool {
                self.to_f64().is_nan()
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                self.to_f64() == other.to_f64()
            }
        }

        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn from_f64(value: f64) -> Self {
                $type(narrowed(value, $mantissa, $bias, $most))
            }

            fn to_f64(self) -> f64 {
                let magnitude = widened(self.0 & 0x7f, $mantissa, $bias, $overflow);
                if self.0 & 0x80 == 0 { magnitude } else { -magnitude }
            }

            fn from_i64(value: i64) -> Self {
                <Self as Element>::from_f64(i64_to_f64_odd(value))
            }

            fn to_i64(self) -> i64 {
                self.to_f64() as i64
            }

            fn from_u64(value: u64) -> Self {
                <Self as Element>::from_f64(u64_to_f64_odd(value))
            }
        }
    )*};
}

impl_float8! {
    f8e4m3 F8E4M3: 3 bits, bias 7, finite below 0x7f, most 0x7e;
    f8e5m2 F8E5M2: 2 bits, bias 15, finite below 0x7c, most 0x7c;
}

/// The bits of the nearest number, and `most` for all beyond it.
fn narrowed(value: f64, mantissa: i32, bias: i32, most: u8) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    if value.is_nan() {
        return sign | 0x7f;
    }
    let magnitude = value.abs();
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    // Steps of this size are exact powers of two, so the division is exact too.
    let steps = (magnitude / 2f64.powi(exponent - mantissa)).round_ties_even();
    let bits = steps + f64::from((exponent + bias - 1) << mantissa);
    sign | if bits >= f64::from(most) { most } else { bits as u8 }
}

/// The number of bits without a sign; from `overflow` on they are not finite ones.
fn widened(bits: u8, mantissa: i32, bias: i32, overflow: u8) -> f64 {
    if bits >= overflow {
        return if bits == 0x7c { f64::INFINITY } else { f64::NAN };
    }
    let exponent = i32::from(bits >> mantissa);
    let fraction = f64::from(bits & ((1 << mantissa) - 1));
    let whole = f64::from(u8::from(exponent > 0) << mantissa);
    (whole + fraction) * 2f64.powi(exponent.max(1) - bias - mantissa)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_the_round_trip() {
        for bits in 0..=u8::MAX {
            let (x, y) = (f8e4m3(bits), f8e5m2(bits));
            assert!(x.is_nan() || <f8e4m3 as Element>::from_f64(x.to_f64()).0 == bits);
            assert!(y.is_nan() || <f8e5m2 as Element>::from_f64(y.to_f64()).0 == bits);
        }
        assert_eq!((f8e4m3(0x7e).to_f64(), f8e4m3(1).to_f64()), (448.0, 2f64.powi(-9)));
        assert_eq!((f8e5m2(0x7b).to_f64(), f8e5m2(1).to_f64()), (57344.0, 2f64.powi(-16)));
    }

    #[test]
    fn ends_of_the_range_are_as_in_pytorch() {
        let e4m3 = |x: f64| <f8e4m3 as Element>::from_f64(x).0;
        assert_eq!(
            [448.0, 464.0, 480.0, 1e9, -f64::INFINITY].map(e4m3),
            [0x7e, 0x7e, 0x7e, 0x7e, 0xfe]
        );
        let e5m2 = |x: f64| <f8e5m2 as Element>::from_f64(x).0;
        assert_eq!([57344.0, 61439.0, 61440.0, -1e300].map(e5m2), [0x7b, 0x7b, 0x7c, 0xfc]);
        assert_eq!((e5m2(f64::NAN), e4m3(-0.0), e4m3(2f64.powi(-10))), (0x7f, 0x80, 0));
        assert_eq!((e4m3(1.0625), e4m3(1.1875), e4m3(1e-300)), (0x38, 0x3a, 0));
    }
}
