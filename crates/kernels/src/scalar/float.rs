//! What each operation means for `f32` and `f64`.

use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use fluvial_tensor::Element;

use super::compute::{VisitBinary, VisitUnary};
use super::inst::{Binary, Unary};
use super::{activation, fast, gamma, special};

/// A float type with the functions that are fast and accurate in the type itself. All others are
/// computed in `f64` and rounded.
pub(crate) trait Float:
    Element
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;
    const INFINITY: Self;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn powf(self, power: Self) -> Self;

    /// Shows the visitor a function without branches, if the type has one for `op`.
    fn fast_unary<V: VisitUnary<Self>>(op: Unary, visitor: V) -> Fast<V::Output, V>;

    /// Shows the visitor a function without branches, if the type has one for `op`.
    fn fast_binary<V: VisitBinary<Self>>(op: Binary, visitor: V) -> Fast<V::Output, V>;
}

/// What a visitor made of a fast function, or the visitor itself, if there is none.
pub(crate) type Fast<Output, V> = std::result::Result<Output, V>;

/// Implements [`Float`] by the type's own methods.
macro_rules! float {
    ($T:ident, $unary:path, $binary:path: $($method:ident($($argument:ident)?))*) => {
        impl Float for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            const INFINITY: Self = $T::INFINITY;
            $(
                #[inline(always)]
                fn $method(self $(, $argument: Self)?) -> Self {
                    $T::$method(self $(, $argument)?)
                }
            )*

            #[inline(always)]
            fn fast_unary<V: VisitUnary<Self>>(op: Unary, visitor: V) -> Fast<V::Output, V> {
                $unary(op, visitor)
            }

            #[inline(always)]
            fn fast_binary<V: VisitBinary<Self>>(op: Binary, visitor: V) -> Fast<V::Output, V> {
                $binary(op, visitor)
            }
        }
    };
}

float!(f32, fast::unary, fast::binary: abs() copysign(sign) sqrt() floor() ceil() trunc() round_ties_even()
    exp() exp2() ln() log2() sin() cos() powf(power));
float!(f64, no_fast, no_fast: abs() copysign(sign) sqrt() floor() ceil() trunc() round_ties_even()
    exp() exp2() ln() log2() sin() cos() powf(power));

/// For types that have no functions of their own.
#[inline(always)]
fn no_fast<Op, Output, V>(_: Op, visitor: V) -> Fast<Output, V> {
    Err(visitor)
}

/// The function of each unary operation.
#[inline(always)]
pub(crate) fn unary<T: Float, V: VisitUnary<T>>(op: Unary, visitor: V) -> Option<V::Output> {
    let visitor = match T::fast_unary(op, visitor) {
        Ok(done) => return Some(done),
        Err(visitor) => visitor,
    };
    Some(match op {
        Unary::Neg => visitor.visit(|x: T| -x),
        Unary::Abs => visitor.visit(T::abs),
        Unary::Sign => visitor.visit(sign),
        Unary::Sqrt => visitor.visit(T::sqrt),
        Unary::Rsqrt => visitor.visit(|x: T| T::ONE / x.sqrt()),
        Unary::Exp => visitor.visit_slow(T::exp),
        Unary::Expm1 => visitor.visit_slow(|x| in_f64(x, f64::exp_m1)),
        Unary::Exp2 => visitor.visit_slow(T::exp2),
        Unary::Log => visitor.visit_slow(T::ln),
        Unary::Log1p => visitor.visit_slow(|x| in_f64(x, f64::ln_1p)),
        Unary::Log2 => visitor.visit_slow(T::log2),
        Unary::Log10 => visitor.visit_slow(|x| in_f64(x, f64::log10)),
        Unary::Sin => visitor.visit_slow(T::sin),
        Unary::Cos => visitor.visit_slow(T::cos),
        Unary::Tan => visitor.visit_slow(|x| in_f64(x, f64::tan)),
        Unary::Asin => visitor.visit_slow(|x| in_f64(x, f64::asin)),
        Unary::Acos => visitor.visit_slow(|x| in_f64(x, f64::acos)),
        Unary::Atan => visitor.visit_slow(|x| in_f64(x, f64::atan)),
        Unary::Sinh => visitor.visit_slow(|x| in_f64(x, f64::sinh)),
        Unary::Cosh => visitor.visit_slow(|x| in_f64(x, f64::cosh)),
        Unary::Tanh => visitor.visit_slow(|x| in_f64(x, f64::tanh)),
        Unary::Asinh => visitor.visit_slow(|x| in_f64(x, special::asinh)),
        Unary::Acosh => visitor.visit_slow(|x| in_f64(x, special::acosh)),
        Unary::Atanh => visitor.visit_slow(|x| in_f64(x, special::atanh)),
        Unary::Erf => visitor.visit_slow(|x| in_f64(x, special::erf)),
        Unary::Erfc => visitor.visit_slow(|x| in_f64(x, special::erfc)),
        Unary::Lgamma => visitor.visit_slow(|x| in_f64(x, gamma::lgamma)),
        Unary::Digamma => visitor.visit_slow(|x| in_f64(x, gamma::digamma)),
        Unary::Sigmoid => visitor.visit_slow(|x| in_f64(x, activation::sigmoid)),
        Unary::Silu => visitor.visit_slow(|x| in_f64(x, activation::silu)),
        Unary::Mish => visitor.visit_slow(|x| in_f64(x, activation::mish)),
        Unary::Gelu => visitor.visit_slow(|x| in_f64(x, activation::gelu)),
        Unary::GeluTanh => visitor.visit_slow(|x| in_f64(x, activation::gelu_tanh)),
        Unary::TanhShrink => visitor.visit_slow(|x| in_f64(x, activation::tanh_shrink)),
        Unary::Floor => visitor.visit(T::floor),
        Unary::Ceil => visitor.visit(T::ceil),
        Unary::Round => visitor.visit(T::round_ties_even),
        Unary::Trunc => visitor.visit(T::trunc),
        Unary::Recip => visitor.visit(|x: T| T::ONE / x),
        Unary::Not => visitor.visit(|x| truth(x == T::ZERO)),
        Unary::IsNan => visitor.visit(|x: T| truth(is_nan(x))),
        Unary::IsInf => visitor.visit(|x: T| truth(x.abs() == T::INFINITY)),
        Unary::IsFinite => visitor.visit(|x: T| truth(x.abs() < T::INFINITY)),
        Unary::Angle => visitor.visit(|x: T| match x < T::ZERO {
            true => T::from_f64(PI),
            false => {
                if is_nan(x) {
                    x
                } else {
                    T::ZERO
                }
            }
        }),
        Unary::Conj | Unary::RealPart => visitor.visit(|x: T| x),
        Unary::ImagPart => visitor.visit(|_: T| T::ZERO),
        Unary::BitNot => return None,
    })
}

/// The function of each binary operation.
#[inline(always)]
pub(crate) fn binary<T: Float, V: VisitBinary<T>>(op: Binary, visitor: V) -> Option<V::Output> {
    let visitor = match T::fast_binary(op, visitor) {
        Ok(done) => return Some(done),
        Err(visitor) => visitor,
    };
    Some(match op {
        Binary::Add => visitor.visit(plus),
        Binary::Sub => visitor.visit(|a: T, b| a - b),
        Binary::Mul => visitor.visit(times),
        Binary::Div => visitor.visit(|a: T, b| a / b),
        Binary::Pow => visitor.visit_slow(T::powf),
        Binary::Rem => visitor.visit_slow(rem),
        Binary::FloorDiv => visitor.visit_slow(floor_div),
        Binary::Max => visitor.visit(larger),
        Binary::Min => visitor.visit(smaller),
        Binary::Fmax => visitor.visit(|a: T, b| if a > b || is_nan(b) { a } else { b }),
        Binary::Fmin => visitor.visit(|a: T, b| if a < b || is_nan(b) { a } else { b }),
        Binary::Atan2 => visitor.visit_slow(|a, b| in_f64_pair(a, b, f64::atan2)),
        Binary::Hypot => visitor.visit_slow(|a, b| in_f64_pair(a, b, f64::hypot)),
        Binary::CopySign => visitor.visit(T::copysign),
        Binary::LogAddExp => visitor.visit_slow(|a, b| in_f64_pair(a, b, activation::log_add_exp)),
        Binary::Softplus => visitor.visit_slow(|a, b| in_f64_pair(a, b, activation::softplus)),
        Binary::Polygamma => visitor.visit_slow(|a, b| in_f64_pair(a, b, gamma::polygamma)),
        Binary::Lt => visitor.visit(|a, b| truth(a < b)),
        Binary::Le => visitor.visit(|a, b| truth(a <= b)),
        Binary::Gt => visitor.visit(|a, b| truth(a > b)),
        Binary::Ge => visitor.visit(|a, b| truth(a >= b)),
        Binary::Eq => visitor.visit(|a, b| truth(a == b)),
        Binary::Ne => visitor.visit(|a, b| truth(a != b)),
        Binary::And => visitor.visit(|a, b| truth((a != T::ZERO) & (b != T::ZERO))),
        Binary::Or => visitor.visit(|a, b| truth((a != T::ZERO) | (b != T::ZERO))),
        Binary::Xor => visitor.visit(|a, b| truth((a != T::ZERO) ^ (b != T::ZERO))),
        Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr => return None,
        Binary::Complex => return None,
    })
}

#[inline(always)]
pub(crate) fn plus<T: Float>(a: T, b: T) -> T {
    a + b
}

#[inline(always)]
pub(crate) fn times<T: Float>(a: T, b: T) -> T {
    a * b
}

#[inline(always)]
pub(crate) fn larger<T: Float>(a: T, b: T) -> T {
    if a > b || is_nan(a) { a } else { b }
}

#[inline(always)]
pub(crate) fn smaller<T: Float>(a: T, b: T) -> T {
    if a < b || is_nan(a) { a } else { b }
}

#[inline(always)]
fn in_f64<T: Float>(x: T, f: impl Fn(f64) -> f64) -> T {
    T::from_f64(f(x.to_f64()))
}

#[inline(always)]
fn in_f64_pair<T: Float>(a: T, b: T, f: impl Fn(f64, f64) -> f64) -> T {
    T::from_f64(f(a.to_f64(), b.to_f64()))
}

#[inline(always)]
fn truth<T: Float>(condition: bool) -> T {
    if condition { T::ONE } else { T::ZERO }
}

#[inline(always)]
#[allow(clippy::eq_op)]
fn is_nan<T: Float>(x: T) -> bool {
    x != x
}

#[inline(always)]
fn sign<T: Float>(x: T) -> T {
    let positive = if x > T::ZERO { T::ONE } else { x + T::ZERO };
    if x < T::ZERO { -T::ONE } else { positive }
}

/// The remainder with the sign of the divisor; it is the exact one of C, moved by one divisor if the
/// signs differ.
#[inline(always)]
fn rem<T: Float>(a: T, b: T) -> T {
    let remainder = a % b;
    if remainder == T::ZERO {
        remainder.copysign(b)
    } else if (remainder < T::ZERO) != (b < T::ZERO) {
        remainder + b
    } else {
        remainder
    }
}

/// The quotient that belongs to [`rem`]: dividing what is left after taking the remainder away gives
/// nearly a whole number, which is more than `floor(a / b)` can promise.
#[inline(always)]
fn floor_div<T: Float>(a: T, b: T) -> T {
    if b == T::ZERO {
        return a / b;
    }
    let remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder != T::ZERO && (remainder < T::ZERO) != (b < T::ZERO) {
        quotient = quotient - T::ONE;
    }
    if quotient == T::ZERO {
        return T::ZERO.copysign(a / b);
    }
    let floor = quotient.floor();
    if quotient - floor > T::HALF { floor + T::ONE } else { floor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::compute::{Compute, ToOne, ToPair};
    use crate::testing::Rng;

    fn apply<T: Compute>(op: Unary, x: T) -> T {
        T::unary(op, ToOne(x)).unwrap()
    }

    fn combine<T: Compute>(op: Binary, a: T, b: T) -> T {
        T::binary(op, ToPair(a, b)).unwrap()
    }

    /// What each operation is in plain `f64`, written without the tables.
    fn reference_unary(op: Unary, x: f64) -> f64 {
        let truth = |condition: bool| if condition { 1.0 } else { 0.0 };
        match op {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Sign if x.is_nan() || x == 0.0 => x + 0.0,
            Unary::Sign => x.signum(),
            Unary::Sqrt => x.sqrt(),
            Unary::Rsqrt => x.sqrt().recip(),
            Unary::Exp => x.exp(),
            Unary::Expm1 => x.exp_m1(),
            Unary::Exp2 => x.exp2(),
            Unary::Log => x.ln(),
            Unary::Log1p => x.ln_1p(),
            Unary::Log2 => x.log2(),
            Unary::Log10 => x.log10(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Sinh => x.sinh(),
            Unary::Cosh => x.cosh(),
            Unary::Tanh => x.tanh(),
            Unary::Asinh => special::asinh(x),
            Unary::Acosh => special::acosh(x),
            Unary::Atanh => special::atanh(x),
            Unary::Erf => special::erf(x),
            Unary::Erfc => special::erfc(x),
            Unary::Lgamma => gamma::lgamma(x),
            Unary::Digamma => gamma::digamma(x),
            Unary::Sigmoid => activation::sigmoid(x),
            Unary::Silu => activation::silu(x),
            Unary::Mish => activation::mish(x),
            Unary::Gelu => activation::gelu(x),
            Unary::GeluTanh => activation::gelu_tanh(x),
            Unary::TanhShrink => activation::tanh_shrink(x),
            Unary::Floor => x.floor(),
            Unary::Ceil => x.ceil(),
            Unary::Round => x.round_ties_even(),
            Unary::Trunc => x.trunc(),
            Unary::Recip => x.recip(),
            Unary::Not => truth(x == 0.0),
            Unary::IsNan => truth(x.is_nan()),
            Unary::IsInf => truth(x.is_infinite()),
            Unary::IsFinite => truth(x.is_finite()),
            Unary::Angle => {
                if x.is_nan() {
                    x
                } else if x < 0.0 {
                    PI
                } else {
                    0.0
                }
            }
            Unary::Conj | Unary::RealPart => x,
            Unary::ImagPart => 0.0,
            Unary::BitNot => unreachable!("not for floats"),
        }
    }

    fn reference_binary(op: Binary, a: f64, b: f64) -> f64 {
        let truth = |condition: bool| if condition { 1.0 } else { 0.0 };
        let either_nan = a.is_nan() || b.is_nan();
        match op {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => a.powf(b),
            Binary::Rem => a - b * (a / b).floor(),
            Binary::FloorDiv => (a / b).floor(),
            Binary::Max | Binary::Min if either_nan => f64::NAN,
            Binary::Max | Binary::Fmax => a.max(b),
            Binary::Min | Binary::Fmin => a.min(b),
            Binary::Atan2 => a.atan2(b),
            Binary::Hypot => a.hypot(b),
            Binary::CopySign => a.copysign(b),
            Binary::LogAddExp => activation::log_add_exp(a, b),
            Binary::Softplus => activation::softplus(a, b),
            Binary::Polygamma => gamma::polygamma(a, b),
            Binary::Lt => truth(a < b),
            Binary::Le => truth(a <= b),
            Binary::Gt => truth(a > b),
            Binary::Ge => truth(a >= b),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
            Binary::Xor => truth((a != 0.0) != (b != 0.0)),
            _ => unreachable!("not for floats"),
        }
    }

    fn check(what: &str, got: f64, want: f64, epsilon: f64) {
        let same = got == want || got.is_nan() && want.is_nan();
        assert!(same || (got - want).abs() <= epsilon * want.abs(), "{what}: {got} for {want}");
    }

    const SPECIAL: [f64; 9] =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

    #[test]
    fn unary_operations_match_f64() {
        let mut rng = Rng::new(1);
        let random = (0..200).map(|_| rng.uniform(-3.0, 3.0) as f32 as f64);
        let values: Vec<f64> = SPECIAL.into_iter().chain(random).collect();
        for &op in Unary::ALL.iter().filter(|&&op| op != Unary::BitNot) {
            for &x in &values {
                let want = reference_unary(op, x);
                check(&format!("{op:?}({x})"), apply(op, x), want, 1e-15);
                check(&format!("{op:?}({x}f32)"), apply(op, x as f32) as f64, want, 2.4e-7);
            }
        }
    }

    #[test]
    fn binary_operations_match_f64() {
        let mut rng = Rng::new(2);
        let mut pairs: Vec<(f64, f64)> =
            SPECIAL.iter().flat_map(|&a| SPECIAL.map(|b| (a, b))).collect();
        let mut quarter = || (rng.uniform(-3.0, 3.0) * 64.0).round() / 64.0;
        pairs.extend((0..300).map(|_| (quarter(), quarter())));
        let reals = |op: &&Binary| (**op as u8) < Binary::BitAnd as u8 && **op != Binary::Complex;
        for &op in Binary::ALL.iter().filter(reals) {
            for &(a, b) in &pairs {
                let infinite = a.is_infinite() || b.is_infinite();
                if matches!(op, Binary::Rem | Binary::FloorDiv) && (infinite || b == 0.0) {
                    continue;
                }
                let want = reference_binary(op, a, b);
                let tolerance = if op == Binary::Rem { 1e-13 } else { 1e-15 };
                check(&format!("{op:?}({a}, {b})"), combine(op, a, b), want, tolerance);
                let got = combine(op, a as f32, b as f32) as f64;
                check(&format!("{op:?}({a}f32, {b}f32)"), got, want, 2.4e-7);
            }
        }
    }

    #[test]
    fn remainder_and_floor_division_follow_python() {
        for (a, b, quotient, remainder) in [
            (7.0, 3.0, 2.0, 1.0),
            (-7.0, 3.0, -3.0, 2.0),
            (7.0, -3.0, -3.0, -2.0),
            (-7.0, -3.0, 2.0, -1.0),
            (1.0, 0.1, 9.0, 0.09999999999999995),
            (5.0, f64::INFINITY, 0.0, 5.0),
            (-5.0, f64::INFINITY, -1.0, f64::INFINITY),
        ] {
            assert_eq!(combine(Binary::FloorDiv, a, b), quotient, "{a} // {b}");
            assert_eq!(combine(Binary::Rem, a, b), remainder, "{a} % {b}");
        }
        assert_eq!(combine(Binary::FloorDiv, 1.0, 0.0), f64::INFINITY);
        assert!(combine(Binary::Rem, 1.0f64, 0.0).is_nan());
        assert!(combine(Binary::Rem, 6.0f64, -3.0).is_sign_negative());
        assert!(combine(Binary::Rem, -6.0f64, 3.0).is_sign_positive());
        assert!(combine(Binary::FloorDiv, f64::NAN, 2.0).is_nan());
    }

    #[test]
    fn nan_and_zero_rules() {
        let nan = f32::NAN;
        for (a, b) in [(nan, 1.0), (1.0, nan), (nan, nan)] {
            assert!(combine(Binary::Max, a, b).is_nan() && combine(Binary::Min, a, b).is_nan());
        }
        assert_eq!(combine(Binary::Fmax, nan, 1.0), 1.0);
        assert_eq!(combine(Binary::Fmin, 1.0, nan), 1.0);
        assert!(combine(Binary::Fmax, nan, nan).is_nan());
        assert_eq!(combine(Binary::Lt, nan, 1.0), 0.0);
        assert_eq!(combine(Binary::Ne, nan, nan), 1.0);
        assert_eq!(combine(Binary::And, nan, 1.0), 1.0);
        assert!(apply(Unary::Sign, nan).is_nan());
        for op in [Unary::Sqrt, Unary::Sin, Unary::Tanh, Unary::Erf, Unary::Expm1, Unary::Log1p] {
            assert!(apply(op, -0.0f32).is_sign_negative(), "{op:?}");
        }
        assert_eq!(apply(Unary::Round, 2.5f32), 2.0);
        assert_eq!(apply(Unary::Round, -3.5f32), -4.0);
        assert_eq!(combine(Binary::Pow, 0.0f32, 0.0), 1.0);
        assert_eq!(apply(Unary::Rsqrt, 0.0f32), f32::INFINITY);
    }
}
