//! The vocabulary of the scalar machine: instructions and the operations they name.

use super::build::{Operand, S};

/// One instruction of a [`Body`](crate::Body). Instruction `i` computes value `i`; operands are the
/// indices of earlier values.
///
/// Equality and hashing compare constants by their bits, so `NaN` equals itself and `0.0` differs from
/// `-0.0`.
#[derive(Clone, Copy, Debug)]
pub enum Inst {
    /// The element of input `k`.
    Input(u8),
    /// Parameter `k`: a number given at each run, the same for all elements.
    Param(u8),
    /// A constant, rounded to the compute dtype.
    Const(f64),
    /// An operation on one value.
    Unary(Unary, u16),
    /// An operation on two values.
    Binary(Binary, u16, u16),
    /// `Select(c, a, b)` is `a` where `c != 0`, else `b`.
    Select(u16, u16, u16),
}

impl Inst {
    /// The values this instruction reads.
    pub fn operands(self) -> impl Iterator<Item = u16> {
        let (operands, count) = match self {
            Inst::Input(_) | Inst::Param(_) | Inst::Const(_) => ([0; 3], 0),
            Inst::Unary(_, a) => ([a, 0, 0], 1),
            Inst::Binary(_, a, b) => ([a, b, 0], 2),
            Inst::Select(c, a, b) => ([c, a, b], 3),
        };
        operands.into_iter().take(count)
    }

    /// Whether the instruction reads no other value.
    pub fn is_leaf(self) -> bool {
        matches!(self, Inst::Input(_) | Inst::Param(_) | Inst::Const(_))
    }

    /// The same instruction with each operand replaced by `f(operand)`.
    pub fn map_operands(self, f: impl Fn(u16) -> u16) -> Inst {
        match self {
            Inst::Input(_) | Inst::Param(_) | Inst::Const(_) => self,
            Inst::Unary(op, a) => Inst::Unary(op, f(a)),
            Inst::Binary(op, a, b) => Inst::Binary(op, f(a), f(b)),
            Inst::Select(c, a, b) => Inst::Select(f(c), f(a), f(b)),
        }
    }

    /// A number that tells any two different instructions apart.
    fn key(self) -> (u8, u8, u64) {
        let pack = |a: u16, b: u16, c: u16| (a as u64) << 32 | (b as u64) << 16 | c as u64;
        match self {
            Inst::Input(k) => (0, k, 0),
            Inst::Param(k) => (1, k, 0),
            Inst::Const(value) => (2, 0, value.to_bits()),
            Inst::Unary(op, a) => (3, op as u8, pack(a, 0, 0)),
            Inst::Binary(op, a, b) => (4, op as u8, pack(a, b, 0)),
            Inst::Select(c, a, b) => (5, 0, pack(c, a, b)),
        }
    }
}

impl PartialEq for Inst {
    fn eq(&self, other: &Inst) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Inst {}

impl std::hash::Hash for Inst {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Declares an operation enum and, from the same list, the builder methods of [`S`].
macro_rules! operations {
    ($(#[$meta:meta])* $Enum:ident { $($(#[$doc:meta])* $Variant:ident $method:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum $Enum { $($(#[$doc])* $Variant,)* }

        impl $Enum {
            /// Every operation, in order of declaration.
            pub const ALL: &'static [$Enum] = &[$($Enum::$Variant,)*];

            /// The name in `snake_case`, as the method of [`S`] spells it.
            pub fn name(self) -> &'static str {
                match self { $($Enum::$Variant => stringify!($method),)* }
            }

            /// The operation of that [`name`](Self::name).
            pub fn parse(name: &str) -> Option<$Enum> {
                Self::ALL.iter().copied().find(|op| op.name() == name)
            }
        }

        #[allow(clippy::should_implement_trait)]
        impl<'a> S<'a> { $(method!($Enum, $Variant, $method, $(#[$doc])*);)* }
    };
}

/// The builder method of one operation.
macro_rules! method {
    (Unary, $Variant:ident, $method:ident, $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $method(self) -> S<'a> {
            self.unary(Unary::$Variant)
        }
    };
    (Binary, $Variant:ident, $method:ident, $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $method(self, other: impl Operand<'a>) -> S<'a> {
            self.binary(Binary::$Variant, other)
        }
    };
}

operations! {
    /// Operations on one value. Those from [`Sqrt`](Unary::Sqrt) to [`Angle`](Unary::Angle) and
    /// [`Recip`](Unary::Recip) are defined for floats only, [`BitNot`](Unary::BitNot) for integers only.
    Unary {
        /// `-x`; integers wrap.
        Neg neg,
        /// The absolute value; integers wrap.
        Abs abs,
        /// -1, 0 or 1; a NaN is kept.
        Sign sign,
        /// The square root.
        Sqrt sqrt,
        /// `1 / sqrt(x)`.
        Rsqrt rsqrt,
        /// e to the power `x`.
        Exp exp,
        /// `exp(x) - 1`, accurate near zero.
        Expm1 expm1,
        /// 2 to the power `x`.
        Exp2 exp2,
        /// The natural logarithm.
        Log log,
        /// `log(1 + x)`, accurate near zero.
        Log1p log1p,
        /// The logarithm to base 2.
        Log2 log2,
        /// The logarithm to base 10.
        Log10 log10,
        /// The sine.
        Sin sin,
        /// The cosine.
        Cos cos,
        /// The tangent.
        Tan tan,
        /// The inverse sine.
        Asin asin,
        /// The inverse cosine.
        Acos acos,
        /// The inverse tangent.
        Atan atan,
        /// The hyperbolic sine.
        Sinh sinh,
        /// The hyperbolic cosine.
        Cosh cosh,
        /// The hyperbolic tangent.
        Tanh tanh,
        /// The inverse hyperbolic sine.
        Asinh asinh,
        /// The inverse hyperbolic cosine.
        Acosh acosh,
        /// The inverse hyperbolic tangent.
        Atanh atanh,
        /// The error function.
        Erf erf,
        /// `1 - erf(x)`, accurate for large `x`.
        Erfc erfc,
        /// The logarithm of the absolute value of the gamma function.
        Lgamma lgamma,
        /// The derivative of `lgamma(x)`.
        Digamma digamma,
        /// `1 / (1 + exp(-x))`.
        Sigmoid sigmoid,
        /// `x * sigmoid(x)`.
        Silu silu,
        /// `x * tanh(log(1 + exp(x)))`.
        Mish mish,
        /// `x * erfc(-x / sqrt(2)) / 2`.
        Gelu gelu,
        /// `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))) / 2`.
        GeluTanh gelu_tanh,
        /// `x - tanh(x)`, accurate near zero.
        TanhShrink tanh_shrink,
        /// The angle of a complex number; 0 or pi for a real one.
        Angle angle,
        /// The largest whole number not above `x`.
        Floor floor,
        /// The smallest whole number not below `x`.
        Ceil ceil,
        /// The nearest whole number, halves to the even one.
        Round round,
        /// The whole part, rounded towards zero.
        Trunc trunc,
        /// `1 / x`.
        Recip recip,
        /// Logical negation: 1 where `x == 0`, else 0.
        Not not,
        /// Every bit flipped.
        BitNot bit_not,
        /// 1 where `x` is NaN, else 0.
        IsNan is_nan,
        /// 1 where `x` is an infinity, else 0.
        IsInf is_inf,
        /// 1 where `x` is neither NaN nor an infinity, else 0.
        IsFinite is_finite,
        /// The complex conjugate.
        Conj conj,
        /// The real part.
        RealPart real_part,
        /// The imaginary part.
        ImagPart imag_part,
    }
}

operations! {
    /// Operations on two values. Those from [`Atan2`](Binary::Atan2) to
    /// [`Polygamma`](Binary::Polygamma) are defined for floats only, those from
    /// [`BitAnd`](Binary::BitAnd) on for integers only.
    Binary {
        /// `a + b`; integers wrap.
        Add add,
        /// `a - b`; integers wrap.
        Sub sub,
        /// `a * b`; integers wrap.
        Mul mul,
        /// `a / b`; integers round towards zero, and give 0 when `b == 0`.
        Div div,
        /// `a` to the power `b`; integers wrap, a negative integer power is 1 divided by the positive one.
        Pow pow,
        /// The remainder of [`FloorDiv`](Binary::FloorDiv), with the sign of `b`; 0 for an integer `b == 0`.
        Rem rem,
        /// The quotient rounded down; 0 for an integer `b == 0`.
        FloorDiv floor_div,
        /// The larger one; NaN if either is NaN.
        Max max,
        /// The smaller one; NaN if either is NaN.
        Min min,
        /// The larger one; a single NaN is ignored.
        Fmax fmax,
        /// The smaller one; a single NaN is ignored.
        Fmin fmin,
        /// The angle of the point (`b`, `a`).
        Atan2 atan2,
        /// `sqrt(a*a + b*b)` without undue overflow.
        Hypot hypot,
        /// The size of `a` with the sign of `b`.
        CopySign copy_sign,
        /// `log(exp(a) + exp(b))`.
        LogAddExp log_add_exp,
        /// `log(1 + exp(a * b)) / b`.
        Softplus softplus,
        /// The derivative of order `a` of `digamma(b)`; NaN if `a` is not one of 0, 1, …, 100.
        Polygamma polygamma,
        /// 1 where `a < b`, else 0.
        Lt lt,
        /// 1 where `a <= b`, else 0.
        Le le,
        /// 1 where `a > b`, else 0.
        Gt gt,
        /// 1 where `a >= b`, else 0.
        Ge ge,
        /// 1 where `a == b`, else 0.
        Eq eq,
        /// 1 where `a != b`, else 0.
        Ne ne,
        /// Logical and: 1 where both are not 0, else 0.
        And and,
        /// Logical or: 1 where one at least is not 0, else 0.
        Or or,
        /// Logical exclusive or: 1 where exactly one is not 0, else 0.
        Xor xor,
        /// The complex number with the real parts of `a` and `b` as its parts. Only complex types have it.
        Complex complex,
        /// The bits that both have.
        BitAnd bit_and,
        /// The bits that one at least has.
        BitOr bit_or,
        /// The bits that exactly one has.
        BitXor bit_xor,
        /// `a` shifted left by `b` bits; 0 unless `0 <= b < width`.
        Shl shl,
        /// `a` shifted right by `b` bits, with the sign kept; 0 or -1 unless `0 <= b < width`.
        Shr shr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse_back() {
        for &op in Unary::ALL {
            assert_eq!(Unary::parse(op.name()), Some(op));
        }
        for &op in Binary::ALL {
            assert_eq!(Binary::parse(op.name()), Some(op));
        }
        assert_eq!(Unary::parse("nothing"), None);
    }

    #[test]
    fn constants_compare_by_bits() {
        assert_eq!(Inst::Const(f64::NAN), Inst::Const(f64::NAN));
        assert_ne!(Inst::Const(0.0), Inst::Const(-0.0));
        assert_ne!(Inst::Input(0), Inst::Param(0));
    }

    #[test]
    fn operands_in_order() {
        let operands: Vec<u16> = Inst::Select(3, 1, 2).operands().collect();
        assert_eq!(operands, [3, 1, 2]);
        assert_eq!(Inst::Const(1.0).operands().count(), 0);
        assert_eq!(
            Inst::Binary(Binary::Add, 4, 4).map_operands(|i| i + 1),
            Inst::Binary(Binary::Add, 5, 5)
        );
    }
}
