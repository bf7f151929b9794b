//! Real and complex elements of matrices.

use faer::traits::ComplexField;
use num_complex::Complex;

/// An element of a matrix, of one `f64` or two.
pub trait Number:
    ComplexField<Real = f64>
    + Copy
    + PartialEq
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
{
    /// The number with this real part and no imaginary one.
    fn of(x: f64) -> Self;

    /// The complex conjugate.
    fn conjugate(self) -> Self;

    /// The greater of the sizes of the parts.
    fn part(self) -> f64;

    /// How far it is from zero.
    fn size(self) -> f64;

    /// A number of size one in its direction: a sign. One for zero.
    fn direction(self) -> Self;

    /// Whether no part is infinite or not a number.
    fn finite(self) -> bool;
}

impl Number for f64 {
    fn of(x: f64) -> f64 {
        x
    }

    fn conjugate(self) -> f64 {
        self
    }

    fn part(self) -> f64 {
        f64::abs(self)
    }

    fn size(self) -> f64 {
        f64::abs(self)
    }

    fn direction(self) -> f64 {
        match () {
            () if self.is_nan() => f64::NAN,
            () if self < 0.0 => -1.0,
            () => 1.0,
        }
    }

    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl Number for Complex<f64> {
    fn of(x: f64) -> Self {
        Complex::new(x, 0.0)
    }

    fn conjugate(self) -> Self {
        self.conj()
    }

    fn part(self) -> f64 {
        self.re.abs().max(self.im.abs())
    }

    fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    fn direction(self) -> Self {
        let size = self.size();
        if size == 0.0 { Self::of(1.0) } else { Complex::new(self.re / size, self.im / size) }
    }

    fn finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
}
