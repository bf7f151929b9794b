//! What each operation means for complex numbers.
//!
//! Sums, differences and products are computed in the type itself, all else in two `f64`, by formulas that neither
//! overflow nor cancel where the result does not; branch cuts and the signs of zeros are those of C.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::ops::{Add, Mul, Neg, Sub};

use fluvial_tensor::{Complex, Element};

use super::compute::{VisitBinary, VisitUnary};
use super::inst::{Binary, Unary};

/// A complex number of two `f64`.
type Z = Complex<f64>;

/// A complex type.
pub(crate) trait Pair:
    Element + Neg<Output = Self> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}

impl Pair for Complex<f32> {}
impl Pair for Complex<f64> {}

/// The function of each unary operation.
#[inline(always)]
pub(crate) fn unary<T: Pair, V: VisitUnary<T>>(op: Unary, visitor: V) -> Option<V::Output> {
    let function: fn(Z) -> Z = match op {
        Unary::Neg => return Some(visitor.visit(|x: T| -x)),
        Unary::Conj => |z| z.conj(),
        Unary::RealPart => |z| real(z.re),
        Unary::ImagPart => |z| real(z.im),
        Unary::Abs => |z| real(z.re.hypot(z.im)),
        Unary::Angle => |z| real(z.im.atan2(z.re)),
        Unary::Sign => sign,
        Unary::Sqrt => sqrt,
        Unary::Rsqrt => |z| divided(real(1.0), sqrt(z)),
        Unary::Recip => |z| divided(real(1.0), z),
        Unary::Exp => exp,
        Unary::Exp2 => |z| exp(z * std::f64::consts::LN_2),
        Unary::Expm1 => expm1,
        Unary::Log => log,
        Unary::Log2 => |z| log(z) * std::f64::consts::LOG2_E,
        Unary::Log10 => |z| log(z) * std::f64::consts::LOG10_E,
        Unary::Log1p => log1p,
        Unary::Sin => |z| unturned(sinh(turned(z))),
        Unary::Cos => |z| cosh(turned(z)),
        Unary::Tan => |z| unturned(tanh(turned(z))),
        Unary::Sinh => sinh,
        Unary::Cosh => cosh,
        Unary::Tanh => tanh,
        Unary::Asin => asin,
        Unary::Acos => acos,
        Unary::Atan => |z| unturned(atanh(turned(z))),
        Unary::Asinh => |z| unturned(asin(turned(z))),
        Unary::Acosh => acosh,
        Unary::Atanh => atanh,
        Unary::Sigmoid => sigmoid,
        Unary::Silu => |z| z * sigmoid(z),
        Unary::TanhShrink => tanh_shrink,
        Unary::Round => |z| Z::new(z.re.round_ties_even(), z.im.round_ties_even()),
        Unary::Not => |z| truth(z == real(0.0)),
        Unary::IsNan => |z| truth(z.re.is_nan() || z.im.is_nan()),
        Unary::IsInf => |z| truth(z.re.is_infinite() || z.im.is_infinite()),
        Unary::IsFinite => |z| truth(z.re.is_finite() && z.im.is_finite()),
        _ => return None,
    };
    Some(visitor.visit_slow(move |x: T| function(x.convert::<Z>()).convert::<T>()))
}

/// The function of each binary operation.
#[inline(always)]
pub(crate) fn binary<T: Pair, V: VisitBinary<T>>(op: Binary, visitor: V) -> Option<V::Output> {
    let is_zero = |z: T| z == T::default();
    let function: fn(Z, Z) -> Z = match op {
        Binary::Add => return Some(visitor.visit(plus)),
        Binary::Sub => return Some(visitor.visit(|a: T, b| a - b)),
        Binary::Mul => return Some(visitor.visit(times)),
        Binary::Eq => return Some(visitor.visit(|a: T, b| as_truth(a == b))),
        Binary::Ne => return Some(visitor.visit(|a: T, b| as_truth(a != b))),
        Binary::And => return Some(visitor.visit(|a, b| as_truth(!is_zero(a) & !is_zero(b)))),
        Binary::Or => return Some(visitor.visit(|a, b| as_truth(!is_zero(a) | !is_zero(b)))),
        Binary::Xor => return Some(visitor.visit(|a, b| as_truth(is_zero(a) ^ is_zero(b)))),
        Binary::Complex => |a, b| Z::new(a.re, b.re),
        Binary::Div => divided,
        Binary::Pow => power,
        Binary::LogAddExp => log_add_exp,
        _ => return None,
    };
    Some(
        visitor.visit_slow(move |a: T, b: T| {
            function(a.convert::<Z>(), b.convert::<Z>()).convert::<T>()
        }),
    )
}

#[inline(always)]
pub(crate) fn plus<T: Pair>(a: T, b: T) -> T {
    a + b
}

#[inline(always)]
pub(crate) fn times<T: Pair>(a: T, b: T) -> T {
    a * b
}

/// By the real parts, then by the imaginary ones. No op asks for it: complex numbers have no order.
#[inline(always)]
pub(crate) fn larger<T: Pair>(a: T, b: T) -> T {
    if (a.to_f64(), a.imaginary()) > (b.to_f64(), b.imaginary()) { a } else { b }
}

/// As [`larger`].
#[inline(always)]
pub(crate) fn smaller<T: Pair>(a: T, b: T) -> T {
    if (a.to_f64(), a.imaginary()) < (b.to_f64(), b.imaginary()) { a } else { b }
}

#[inline(always)]
fn as_truth<T: Pair>(condition: bool) -> T {
    if condition { T::from_i64(1) } else { T::default() }
}

fn truth(condition: bool) -> Z {
    real(f64::from(u8::from(condition)))
}

fn real(x: f64) -> Z {
    Z::new(x, 0.0)
}

/// Times the imaginary unit.
fn turned(z: Z) -> Z {
    Z::new(-z.im, z.re)
}

/// Divided by the imaginary unit.
fn unturned(z: Z) -> Z {
    Z::new(z.im, -z.re)
}

fn sign(z: Z) -> Z {
    let size = z.re.hypot(z.im);
    if size == 0.0 { real(0.0) } else { Z::new(z.re / size, z.im / size) }
}

/// The quotient by Smith's method, which divides by the larger part first.
fn divided(a: Z, b: Z) -> Z {
    if b.im == 0.0 {
        return Z::new(a.re / b.re, a.im / b.re);
    }
    const BIG: f64 = f64::MAX / 4.0;
    if [a.re, a.im, b.re, b.im].iter().any(|part| part.is_finite() && part.abs() > BIG) {
        return divided(a * 0.125, b * 0.125);
    }
    if b.re.abs().max(b.im.abs()) < f64::MIN_POSITIVE * 4.0 {
        let up = 2f64.powi(512);
        return divided(a, b * up) * up;
    }
    if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = 1.0 / (b.re + b.im * ratio);
        return Z::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    let ratio = b.re / b.im;
    let scale = 1.0 / (b.im + b.re * ratio);
    Z::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
}

fn sqrt(z: Z) -> Z {
    if z.re == 0.0 && z.im == 0.0 {
        return Z::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return Z::new(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() {
        let other = if z.im.is_nan() { f64::NAN } else { 0.0 };
        return match z.re > 0.0 {
            true => Z::new(z.re, other.copysign(z.im)),
            false => Z::new(other, f64::INFINITY.copysign(z.im)),
        };
    }
    // A quarter of the number, whose sum with its size does not overflow.
    let (re, im) = (z.re / 4.0, z.im / 4.0);
    let half = if z.re.abs() < 1e-290 && z.im.abs() < 1e-290 {
        let up = 2f64.powi(512);
        (2.0 * (z.re.abs() * up + (z.re * up).hypot(z.im * up))).sqrt() * 2f64.powi(-256) / 2.0
    } else {
        (2.0 * (re.abs() + re.hypot(im))).sqrt()
    };
    match z.re >= 0.0 {
        true => Z::new(half, z.im / (2.0 * half)),
        false => Z::new(z.im.abs() / (2.0 * half), half.copysign(z.im)),
    }
}

fn exp(z: Z) -> Z {
    if z.im == 0.0 {
        return Z::new(z.re.exp(), z.im);
    }
    if z.re == f64::NEG_INFINITY {
        let (sin, cos) = if z.im.is_finite() { z.im.sin_cos() } else { (1.0, 1.0) };
        return Z::new(0.0f64.copysign(cos), 0.0f64.copysign(sin));
    }
    if z.re == f64::INFINITY && !z.im.is_finite() {
        return Z::new(z.re, f64::NAN);
    }
    let (size, (sin, cos)) = (z.re.exp(), z.im.sin_cos());
    Z::new(size * cos, size * sin)
}

fn expm1(z: Z) -> Z {
    if z.im == 0.0 {
        return Z::new(z.re.exp_m1() + 0.0, z.im);
    }
    if !is_finite(z) {
        return exp(z) - 1.0;
    }
    let half = (z.im / 2.0).sin();
    Z::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

fn log(z: Z) -> Z {
    let (large, small) = match z.re.abs() >= z.im.abs() {
        true => (z.re.abs(), z.im.abs()),
        false => (z.im.abs(), z.re.abs()),
    };
    let size = match (0.5..=2.0).contains(&large) {
        // Near 1 the logarithm of the size would lose its digits.
        true => ((large - 1.0) * (large + 1.0) + small * small).ln_1p() / 2.0,
        false => z.re.hypot(z.im).ln(),
    };
    Z::new(size, z.im.atan2(z.re))
}

fn log1p(z: Z) -> Z {
    let size = match z.re.abs() < 0.5 && z.im.abs() < 0.5 {
        true => (z.re * (z.re + 2.0) + z.im * z.im).ln_1p() / 2.0,
        false => log(z + 1.0).re,
    };
    Z::new(size, z.im.atan2(z.re + 1.0))
}

fn sinh(z: Z) -> Z {
    if z.im == 0.0 {
        return Z::new(z.re.sinh(), z.im);
    }
    if !z.im.is_finite() && (z.re == 0.0 || z.re.is_infinite()) {
        return Z::new(z.re, f64::NAN);
    }
    let (sin, cos) = z.im.sin_cos();
    let sinh = if z.re == 0.0 { z.re } else { z.re.sinh() * cos };
    Z::new(sinh, z.re.cosh() * sin)
}

fn cosh(z: Z) -> Z {
    if z.im == 0.0 {
        return Z::new(z.re.cosh(), if z.re.is_sign_negative() { -z.im } else { z.im });
    }
    if !z.im.is_finite() && z.re == 0.0 {
        return Z::new(f64::NAN, 0.0);
    }
    if !z.im.is_finite() && z.re.is_infinite() {
        return Z::new(f64::INFINITY, f64::NAN);
    }
    let (sin, cos) = z.im.sin_cos();
    let other = if z.re == 0.0 { 0.0f64.copysign(z.re) * sin } else { z.re.sinh() * sin };
    Z::new(z.re.cosh() * cos, other)
}

fn tanh(z: Z) -> Z {
    if z.im == 0.0 {
        return Z::new(z.re.tanh(), z.im);
    }
    if z.re.is_infinite() {
        return Z::new(1f64.copysign(z.re), 0f64.copysign(z.im));
    }
    if !z.im.is_finite() {
        return Z::new(if z.re == 0.0 { z.re } else { f64::NAN }, f64::NAN);
    }
    if z.re.abs() > 22.0 {
        let turn = (2.0 * z.im).sin();
        return Z::new(1f64.copysign(z.re), 2.0 * turn * (-2.0 * z.re.abs()).exp());
    }
    let tan = z.im.tan();
    let beta = 1.0 + tan * tan;
    if beta.is_infinite() {
        return Z::new(1.0 / z.re.tanh(), 0.0);
    }
    let sinh = z.re.sinh();
    let below = 1.0 + beta * sinh * sinh;
    Z::new(beta * z.re.cosh() * sinh / below, tan / below)
}

/// One minus and one plus the number, with their roots.
fn roots_around_one(z: Z) -> (Z, Z) {
    (sqrt(Z::new(1.0 - z.re, -z.im)), sqrt(Z::new(1.0 + z.re, z.im)))
}

/// What `asinh` is of infinities and NaN.
fn asinh_beyond(z: Z) -> Z {
    let re = match () {
        () if z.re.is_infinite() => z.re,
        () if z.im.is_infinite() => f64::INFINITY.copysign(z.re),
        () => f64::NAN,
    };
    let im = match () {
        () if z.re.is_nan() && z.im == 0.0 => z.im,
        () if z.re.is_nan() || z.im.is_nan() => f64::NAN,
        () if z.im.is_finite() => 0f64.copysign(z.im),
        () if z.re.is_infinite() => FRAC_PI_4.copysign(z.im),
        () => FRAC_PI_2.copysign(z.im),
    };
    Z::new(re, im)
}

/// What `acos` is of infinities and NaN.
fn acos_beyond(z: Z) -> Z {
    let re = match () {
        () if z.re.is_nan() || z.im.is_nan() && z.re != 0.0 => f64::NAN,
        () if z.im.is_infinite() && z.re.is_infinite() => {
            if z.re > 0.0 {
                FRAC_PI_4
            } else {
                3.0 * FRAC_PI_4
            }
        }
        () if z.re.is_infinite() => {
            if z.re > 0.0 {
                0.0
            } else {
                PI
            }
        }
        () => FRAC_PI_2,
    };
    let im = match z.re.is_infinite() || z.im.is_infinite() {
        true => -f64::INFINITY.copysign(z.im),
        false => f64::NAN,
    };
    Z::new(re, im)
}

/// What `atanh` is of infinities and NaN.
fn atanh_beyond(z: Z) -> Z {
    let is_infinite = z.re.is_infinite() || z.im.is_infinite();
    let re = match () {
        () if is_infinite => {
            if z.re.is_nan() {
                0.0
            } else {
                0f64.copysign(z.re)
            }
        }
        () if z.re == 0.0 => z.re,
        () => f64::NAN,
    };
    let is_turned = is_infinite && !z.im.is_nan();
    Z::new(re, if is_turned { FRAC_PI_2.copysign(z.im) } else { f64::NAN })
}

fn is_finite(z: Z) -> bool {
    z.re.is_finite() && z.im.is_finite()
}

fn asin(z: Z) -> Z {
    if !is_finite(z) {
        return unturned(asinh_beyond(turned(z)));
    }
    let (minus, plus) = roots_around_one(z);
    let across = minus.re * plus.im - minus.im * plus.re;
    Z::new(z.re.atan2(minus.re * plus.re - minus.im * plus.im), across.asinh())
}

fn acos(z: Z) -> Z {
    if !is_finite(z) {
        return acos_beyond(z);
    }
    let (minus, plus) = roots_around_one(z);
    let across = plus.re * minus.im - plus.im * minus.re;
    Z::new(2.0 * minus.re.atan2(plus.re), across.asinh())
}

fn acosh(z: Z) -> Z {
    if !is_finite(z) {
        let turned = acos_beyond(z);
        return Z::new(turned.im.abs(), turned.re.copysign(z.im));
    }
    let (minus, plus) = (sqrt(Z::new(z.re - 1.0, z.im)), sqrt(Z::new(z.re + 1.0, z.im)));
    let along = minus.re * plus.re + minus.im * plus.im;
    Z::new(along.asinh(), 2.0 * minus.im.atan2(plus.re))
}

fn atanh(z: Z) -> Z {
    if !is_finite(z) {
        return atanh_beyond(z);
    }
    let below = (1.0 - z.re) * (1.0 - z.re) + z.im * z.im;
    let size = (4.0 * z.re / below).ln_1p() / 4.0;
    // A number on the real axis beyond 1 lies on a cut, whose side the sign of zero tells.
    let angle = (2.0 * z.im).atan2((1.0 - z.re) * (1.0 + z.re) - z.im * z.im) / 2.0;
    Z::new(size, angle)
}

fn sigmoid(z: Z) -> Z {
    match z.re >= 0.0 {
        true => divided(real(1.0), real(1.0) + exp(-z)),
        // The exponential of the other sign would overflow.
        false => {
            let small = exp(z);
            divided(small, real(1.0) + small)
        }
    }
}

fn tanh_shrink(z: Z) -> Z {
    if z.re.abs() + z.im.abs() > 0.05 || !is_finite(z) {
        return z - tanh(z);
    }
    // Near zero the difference would lose its digits: the series.
    let square = z * z;
    let factors = [1382.0 / 155_925.0, -62.0 / 2835.0, 17.0 / 315.0, -2.0 / 15.0, 1.0 / 3.0];
    let series = factors.iter().fold(real(0.0), |sum, &factor| sum * square + factor);
    series * square * z
}

/// `log(exp(a) + exp(b))`, of which the imaginary part goes on where that of the greater one is.
pub(crate) fn log_add_exp(a: Z, b: Z) -> Z {
    let (large, small) = if a.re >= b.re { (a, b) } else { (b, a) };
    match large.re.is_infinite() {
        true if large.re < 0.0 => large,
        true if small.re < large.re => large,
        _ => large + log1p(exp(small - large)),
    }
}

/// Whole powers up to this are products.
const FEW: f64 = 100.0;

fn power(a: Z, b: Z) -> Z {
    if b.im == 0.0 && b.re.fract() == 0.0 && b.re.abs() <= FEW {
        let (mut result, mut square, mut n) = (real(1.0), a, b.re.abs() as u32);
        while n > 0 {
            if n & 1 == 1 {
                result *= square;
            }
            square = square * square;
            n >>= 1;
        }
        return if b.re < 0.0 { divided(real(1.0), result) } else { result };
    }
    if a == real(0.0) {
        return if b.re > 0.0 { real(0.0) } else { Z::new(f64::NAN, f64::NAN) };
    }
    exp(b * log(a))
}

#[cfg(test)]
mod tests {
    use super::super::compute::{Compute, ToOne, ToPair};
    use super::*;

    fn near(a: Z, b: Z) -> bool {
        (a - b).norm() <= 1e-13 * (1.0 + b.norm())
    }

    fn apply(op: Unary, z: Z) -> Z {
        Z::unary(op, ToOne(z)).unwrap()
    }

    #[test]
    fn inverses_and_identities() {
        for re in [-2.5, -0.75, -0.1, 0.0, 0.3, 1.0, 1.9] {
            for im in [-1.4, -0.2, 1e-9, 0.6, 1.5] {
                let z = Z::new(re, im);
                for (inverse, op) in [
                    (Unary::Log, Unary::Exp),
                    (Unary::Asin, Unary::Sin),
                    (Unary::Acos, Unary::Cos),
                    (Unary::Atan, Unary::Tan),
                    (Unary::Asinh, Unary::Sinh),
                    (Unary::Acosh, Unary::Cosh),
                    (Unary::Atanh, Unary::Tanh),
                ] {
                    assert!(near(apply(op, apply(inverse, z)), z), "{op:?} {z}");
                }
                for (op, want) in [
                    (Unary::Asin, z.asin()),
                    (Unary::Acos, z.acos()),
                    (Unary::Tanh, z.tanh()),
                    (Unary::Sqrt, z.sqrt()),
                    (Unary::Log1p, (z + 1.0).ln()),
                    (Unary::Expm1, z.exp() - 1.0),
                    (Unary::Sin, z.sin()),
                    (Unary::Cos, z.cos()),
                    (Unary::Recip, z.inv()),
                ] {
                    let error = (apply(op, z) - want).norm() / (1.0 + want.norm());
                    assert!(error < 1e-8, "{op:?} {z}: {}", apply(op, z));
                }
                let cube = Z::binary(Binary::Pow, ToPair(z, real(3.0))).unwrap();
                assert!(near(cube, z * z * z));
                let power = Z::binary(Binary::Pow, ToPair(z, Z::new(0.3, -0.7))).unwrap();
                assert!(near(power, z.powc(Z::new(0.3, -0.7))));
            }
        }
    }

    #[test]
    fn large_and_small_numbers_stay_numbers() {
        let big = Z::new(1e308, 1e308);
        assert!(near(divided(big, big), real(1.0)) && sqrt(big).re.is_finite());
        let small = Z::new(1e-320, 1e-320);
        assert!((divided(sqrt(small) * sqrt(small), small) - real(1.0)).norm() < 1e-3);
        assert_eq!(tanh(Z::new(800.0, 1.0)), Z::new(1.0, 0.0));
        assert_eq!(exp(Z::new(f64::NEG_INFINITY, 3.0)).norm(), 0.0);
        assert_eq!(divided(Z::new(1.0, -1.0), real(0.0)).re, f64::INFINITY);
        assert_eq!(log(real(0.0)).re, f64::NEG_INFINITY);
        assert!(near(log(Z::new(1.0, 1e-9)), Z::new(5e-19, 1e-9)));
    }

    #[test]
    fn cuts_follow_the_sign_of_zero() {
        assert_eq!(sqrt(Z::new(-4.0, -0.0)), Z::new(0.0, -2.0));
        assert_eq!(log(Z::new(-1.0, -0.0)).im, -std::f64::consts::PI);
        assert!(acos(Z::new(2.0, 0.0)).im < 0.0 && acos(Z::new(2.0, -0.0)).im > 0.0);
    }
}
