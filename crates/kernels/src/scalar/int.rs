//! What each operation means for the integer types. Nothing here panics: arithmetic wraps, and a
//! division by zero gives 0.

use fluvial_tensor::Element;

use super::compute::{VisitBinary, VisitUnary};
use super::inst::{Binary, Unary};

/// An integer type with wrapping arithmetic.
pub(crate) trait Int: Element + Ord {
    const ZERO: Self;
    const ONE: Self;
    const BITS: u32;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    /// Rounds towards zero; `other` is not zero.
    fn wrapping_div(self, other: Self) -> Self;
    /// The remainder of [`Int::wrapping_div`]; `other` is not zero.
    fn wrapping_rem(self, other: Self) -> Self;
    fn bit_and(self, other: Self) -> Self;
    fn bit_or(self, other: Self) -> Self;
    fn bit_xor(self, other: Self) -> Self;
    fn wrapping_shl(self, count: u32) -> Self;
    fn wrapping_shr(self, count: u32) -> Self;
}

/// Implements [`Int`] by the type's own methods.
macro_rules! int {
    ($($T:ident)*) => {$(
        impl Int for $T {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const BITS: u32 = $T::BITS;
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { $T::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { $T::wrapping_sub(self, other) }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self { $T::wrapping_mul(self, other) }
            #[inline(always)]
            fn wrapping_div(self, other: Self) -> Self { $T::wrapping_div(self, other) }
            #[inline(always)]
            fn wrapping_rem(self, other: Self) -> Self { $T::wrapping_rem(self, other) }
            #[inline(always)]
            fn bit_and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn bit_or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn wrapping_shl(self, count: u32) -> Self { $T::wrapping_shl(self, count) }
            #[inline(always)]
            fn wrapping_shr(self, count: u32) -> Self { $T::wrapping_shr(self, count) }
        }
    )*};
}

int!(u8 i8 i32 i64 u64);

/// The function of each unary operation.
#[inline(always)]
pub(crate) fn unary<T: Int, V: VisitUnary<T>>(op: Unary, visitor: V) -> Option<V::Output> {
    Some(match op {
        Unary::Neg => visitor.visit(|x| T::ZERO.wrapping_sub(x)),
        Unary::Abs => visitor.visit(|x| if x < T::ZERO { T::ZERO.wrapping_sub(x) } else { x }),
        Unary::Sign => visitor.visit(sign),
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => visitor.visit(|x| x),
        Unary::Not => visitor.visit(|x| truth(x == T::ZERO)),
        Unary::BitNot => visitor.visit(|x: T| x.bit_xor(T::ZERO.wrapping_sub(T::ONE))),
        Unary::IsNan | Unary::IsInf => visitor.visit(|_| T::ZERO),
        Unary::IsFinite => visitor.visit(|_| T::ONE),
        Unary::Conj | Unary::RealPart => visitor.visit(|x| x),
        Unary::ImagPart => visitor.visit(|_| T::ZERO),
        _ => return None,
    })
}

/// The function of each binary operation.
#[inline(always)]
pub(crate) fn binary<T: Int, V: VisitBinary<T>>(op: Binary, visitor: V) -> Option<V::Output> {
    Some(match op {
        Binary::Add => visitor.visit(plus),
        Binary::Sub => visitor.visit(T::wrapping_sub),
        Binary::Mul => visitor.visit(times),
        Binary::Div => visitor.visit_slow(div),
        Binary::Pow => visitor.visit_slow(pow),
        Binary::Rem => visitor.visit_slow(rem),
        Binary::FloorDiv => visitor.visit_slow(floor_div),
        Binary::Max | Binary::Fmax => visitor.visit(larger),
        Binary::Min | Binary::Fmin => visitor.visit(smaller),
        Binary::Lt => visitor.visit(|a, b| truth(a < b)),
        Binary::Le => visitor.visit(|a, b| truth(a <= b)),
        Binary::Gt => visitor.visit(|a, b| truth(a > b)),
        Binary::Ge => visitor.visit(|a, b| truth(a >= b)),
        Binary::Eq => visitor.visit(|a, b| truth(a == b)),
        Binary::Ne => visitor.visit(|a, b| truth(a != b)),
        Binary::And => visitor.visit(|a, b| truth((a != T::ZERO) & (b != T::ZERO))),
        Binary::Or => visitor.visit(|a, b| truth((a != T::ZERO) | (b != T::ZERO))),
        Binary::Xor => visitor.visit(|a, b| truth((a != T::ZERO) ^ (b != T::ZERO))),
        Binary::BitAnd => visitor.visit(T::bit_and),
        Binary::BitOr => visitor.visit(T::bit_or),
        Binary::BitXor => visitor.visit(T::bit_xor),
        Binary::Shl => visitor.visit(shl),
        Binary::Shr => visitor.visit(shr),
        Binary::Atan2 | Binary::Hypot | Binary::CopySign => return None,
        Binary::LogAddExp | Binary::Softplus | Binary::Polygamma | Binary::Complex => return None,
    })
}

#[inline(always)]
pub(crate) fn plus<T: Int>(a: T, b: T) -> T {
    a.wrapping_add(b)
}

#[inline(always)]
pub(crate) fn times<T: Int>(a: T, b: T) -> T {
    a.wrapping_mul(b)
}

#[inline(always)]
pub(crate) fn larger<T: Int>(a: T, b: T) -> T {
    Ord::max(a, b)
}

#[inline(always)]
pub(crate) fn smaller<T: Int>(a: T, b: T) -> T {
    Ord::min(a, b)
}

#[inline(always)]
fn truth<T: Int>(condition: bool) -> T {
    if condition { T::ONE } else { T::ZERO }
}

#[inline(always)]
fn sign<T: Int>(x: T) -> T {
    truth::<T>(x > T::ZERO).wrapping_sub(truth(x < T::ZERO))
}

#[inline(always)]
fn div<T: Int>(a: T, b: T) -> T {
    if b == T::ZERO { T::ZERO } else { a.wrapping_div(b) }
}

/// Whether rounding the quotient down differs from rounding it towards zero.
#[inline(always)]
fn rounds_down<T: Int>(remainder: T, divisor: T) -> bool {
    remainder != T::ZERO && (remainder < T::ZERO) != (divisor < T::ZERO)
}

#[inline(always)]
fn rem<T: Int>(a: T, b: T) -> T {
    if b == T::ZERO {
        return T::ZERO;
    }
    let remainder = a.wrapping_rem(b);
    if rounds_down(remainder, b) { remainder.wrapping_add(b) } else { remainder }
}

#[inline(always)]
fn floor_div<T: Int>(a: T, b: T) -> T {
    if b == T::ZERO {
        return T::ZERO;
    }
    let quotient = a.wrapping_div(b);
    if rounds_down(a.wrapping_rem(b), b) { quotient.wrapping_sub(T::ONE) } else { quotient }
}

/// By repeated squaring; a negative power is 1 divided by the positive one.
#[inline(always)]
fn pow<T: Int>(base: T, power: T) -> T {
    let mut bits = power.to_i64() as u64;
    if power < T::ZERO {
        bits = bits.wrapping_neg();
    }
    let (mut square, mut result) = (base, T::ONE);
    while bits != 0 {
        if bits & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        bits >>= 1;
    }
    let unit = base == T::ONE || base.wrapping_add(T::ONE) == T::ZERO;
    if power >= T::ZERO || unit { result } else { T::ZERO }
}

#[inline(always)]
fn shl<T: Int>(a: T, b: T) -> T {
    let count = b.to_i64() as u64;
    if count < T::BITS as u64 { a.wrapping_shl(count as u32) } else { T::ZERO }
}

#[inline(always)]
fn shr<T: Int>(a: T, b: T) -> T {
    let count = (b.to_i64() as u64).min(T::BITS as u64);
    if count < T::BITS as u64 {
        a.wrapping_shr(count as u32)
    } else {
        T::ZERO.wrapping_sub(truth(a < T::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::compute::{Compute, ToOne, ToPair};

    fn apply<T: Compute>(op: Unary, x: T) -> T {
        T::unary(op, ToOne(x)).unwrap()
    }

    fn combine<T: Compute>(op: Binary, a: T, b: T) -> T {
        T::binary(op, ToPair(a, b)).unwrap()
    }

    /// The result in unlimited integers, to be wrapped into the type.
    fn reference(op: Binary, a: i128, b: i128, bits: u32) -> i128 {
        let truth = |condition: bool| i128::from(condition);
        match op {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div if b == 0 => 0,
            Binary::Div => a / b,
            Binary::Pow if b < 0 => match a {
                1 => 1,
                -1 => 1 - 2 * (b & 1),
                _ => 0,
            },
            Binary::Pow => (0..b).fold(1i128, |product, _| (product * a) as i64 as i128),
            Binary::Rem | Binary::FloorDiv if b == 0 => 0,
            Binary::Rem => a - b * (a as f64 / b as f64).floor() as i128,
            Binary::FloorDiv => (a as f64 / b as f64).floor() as i128,
            Binary::Max | Binary::Fmax => a.max(b),
            Binary::Min | Binary::Fmin => a.min(b),
            Binary::Lt => truth(a < b),
            Binary::Le => truth(a <= b),
            Binary::Gt => truth(a > b),
            Binary::Ge => truth(a >= b),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::And => truth(a != 0 && b != 0),
            Binary::Or => truth(a != 0 || b != 0),
            Binary::Xor => truth((a != 0) != (b != 0)),
            Binary::BitAnd => a & b,
            Binary::BitOr => a | b,
            Binary::BitXor => a ^ b,
            Binary::Shl if (0..bits as i128).contains(&b) => a << b,
            Binary::Shl => 0,
            Binary::Shr if (0..bits as i128).contains(&b) => a >> b,
            Binary::Shr => a >> 100,
            _ => unreachable!("not for integers"),
        }
    }

    fn check_type<T: Compute + Int>(values: &[i64]) {
        for &op in Binary::ALL.iter().filter(|&&op| op != Binary::Complex) {
            if (Binary::Atan2 as u8..=Binary::Polygamma as u8).contains(&(op as u8)) {
                continue;
            }
            for &a in values {
                for &b in values {
                    if op == Binary::Pow && b > 100 {
                        continue;
                    }
                    let want = T::from_i64(reference(op, a as i128, b as i128, T::BITS) as i64);
                    let got = combine(op, T::from_i64(a), T::from_i64(b));
                    assert_eq!(got, want, "{op:?}({a}, {b}) in {:?}", T::DTYPE);
                }
            }
        }
    }

    #[test]
    fn binary_operations_match_wide_integers() {
        check_type::<u8>(&[0, 1, 2, 3, 7, 8, 9, 100, 127, 128, 200, 254, 255]);
        check_type::<i8>(&[0, 1, 2, 3, 7, 8, 100, 127, -1, -2, -3, -100, -127, -128]);
        let small = [0, 1, 2, 3, 7, 31, 32, 33, 1000, -1, -2, -3, -7, -1000];
        check_type::<i32>(&[&small[..], &[i32::MAX as i64, i32::MIN as i64]].concat());
        check_type::<i64>(&small);
        check_type::<u64>(&[0, 1, 2, 3, 7, 63, 64, 65, 1000, 1 << 40]);
    }

    #[test]
    fn ends_of_the_range_wrap() {
        assert_eq!(combine(Binary::Add, i64::MAX, 1), i64::MIN);
        assert_eq!(combine(Binary::Mul, i64::MIN, -1), i64::MIN);
        assert_eq!(combine(Binary::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(combine(Binary::FloorDiv, i32::MIN, -1), i32::MIN);
        assert_eq!(combine(Binary::Rem, i32::MIN, -1), 0);
        assert_eq!(apply(Unary::Neg, i8::MIN), i8::MIN);
        assert_eq!(apply(Unary::Abs, i64::MIN), i64::MIN);
        assert_eq!(apply(Unary::Neg, 1u8), 255);
        assert_eq!(combine(Binary::Div, u64::MAX, 10), u64::MAX / 10);
        assert_eq!(combine(Binary::Max, u64::MAX, 1), u64::MAX);
        assert_eq!(combine(Binary::Shr, u64::MAX, 63), 1);
        assert_eq!(combine(Binary::Pow, 3u64, 1 << 63), 1);
    }

    #[test]
    fn unary_operations() {
        for x in [-5i32, -1, 0, 1, 7] {
            assert_eq!(apply(Unary::Neg, x), -x);
            assert_eq!(apply(Unary::Abs, x), x.abs());
            assert_eq!(apply(Unary::Sign, x), x.signum());
            assert_eq!(apply(Unary::Not, x), (x == 0) as i32);
            assert_eq!(apply(Unary::BitNot, x), !x);
            assert_eq!(apply(Unary::IsNan, x) + apply(Unary::IsInf, x), 0);
            assert_eq!(apply(Unary::IsFinite, x), 1);
            for op in [Unary::Floor, Unary::Ceil, Unary::Round, Unary::Trunc] {
                assert_eq!(apply(op, x), x);
            }
        }
        assert_eq!(apply(Unary::Sign, 200u8), 1);
    }
}
