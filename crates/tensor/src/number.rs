//! Numbers that users give to be elements: whether an element type holds them.

use crate::{Complex, DType, Element, Error, Result, Tensor, dispatch};

/// A number as it was written: an integer, exactly, one with a fraction, or a complex one.
///
/// What is to be an element of an integer type has to be in its range. A fraction is cut off, as in NumPy and PyTorch; a bool
/// is true for whatever is not zero; floats round, and what is too large for them is infinite. Neither integers nor floats hold
/// what was written as a complex number, whatever its imaginary part.
///
/// ```
/// use fluvial_tensor::{DType, Number};
///
/// assert_eq!(Number::from(7).element(DType::U8)?.item::<u8>()?, 7);
/// assert_eq!(Number::from(2.7).element(DType::I32)?.item::<i32>()?, 2);
/// let error = Number::from(300).element(DType::U8).unwrap_err();
/// assert_eq!(error.message(), "300 does not fit uint8, whose elements are from 0 to 255");
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// A number of Rust's `f64`.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Number {
    /// The number as an `f64`: rounded, if it is an integer beyond 2^53; the real part of a complex one.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
            Number::Complex(value) => value.re,
        }
    }

    /// Whether an `f64` is this number; none is a complex one.
    pub fn is_exact(self) -> bool {
        match self {
            Number::Int(value) => value as f64 as i128 == value && value != i128::MAX,
            Number::Float(_) => true,
            Number::Complex(_) => false,
        }
    }

    /// The whole number without a fraction; nothing for NaN, infinity and complex numbers.
    fn whole(self) -> Option<i128> {
        match self {
            Number::Int(value) => Some(value),
            Number::Float(value) => value.is_finite().then_some(value as i128),
            Number::Complex(_) => None,
        }
    }

    /// Refuses what is not in the range of an integer type, and complex numbers for real types.
    pub fn check(self, dtype: DType) -> Result<()> {
        if matches!(self, Number::Complex(_)) && !dtype.is_complex() && !dtype.is_bool() {
            let name = dtype.long_name();
            let what = format!("a complex number cannot be an element of {name}");
            return Err(Error::dtype(what).remedy("give a real number, or a complex `dtype`"));
        }
        let Some((least, most)) = dtype.range() else { return Ok(()) };
        if self.whole().is_some_and(|whole| (least..=most).contains(&whole)) {
            return Ok(());
        }
        let name = dtype.long_name();
        Err(Error::argument(format!(
            "{self} does not fit {name}, whose elements are from {least} to {most}"
        ))
        .remedy(format!(
            "give a number in this range, or cast the tensor to a type that holds {self}"
        )))
    }

    /// A tensor without axes that holds the number.
    pub fn element(self, dtype: DType) -> Result<Tensor> {
        self.check(dtype)?;
        Ok(dispatch!(dtype, T => Tensor::scalar(match (self, dtype.is_int()) {
            // Elements of unsigned types have the low bits of the number.
            (Number::Int(value), true) => T::from_i64(value as i64),
            (Number::Complex(value), _) => T::from_parts(value.re, value.im),
            (number, _) => <T as Element>::from_f64(number.to_f64()),
        })))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Int(value) => write!(f, "{value}"),
            Number::Float(value) if value.is_finite() && value.abs() >= 1e16 => {
                write!(f, "{value:e}")
            }
            Number::Float(value) => write!(f, "{value}"),
            Number::Complex(value) => write!(f, "{}{:+}j", value.re, value.im),
        }
    }
}

macro_rules! from {
    ($($int:ty),*; $($float:ty),*) => {
        $(impl From<$int> for Number {
            fn from(value: $int) -> Number {
                Number::Int(value as i128)
            }
        })*
        $(impl From<$float> for Number {
            fn from(value: $float) -> Number {
                Number::Float(value.into())
            }
        })*
    };
}

impl From<Complex<f64>> for Number {
    fn from(value: Complex<f64>) -> Number {
        Number::Complex(value)
    }
}

from!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, i128, bool; f32, f64);
