//! The types that bodies compute in, and how an operation is turned into a Rust function.
//!
//! The tables `unary` and `binary` of [`float`], [`int`] and [`complex`] are the only place where an operation gets
//! its meaning. They hand the function to a visitor as a type of its own, so the visitor's loop is
//! compiled once for each function and vectorised. The tile loop, the one-element path and the check all
//! are visitors of these tables.

use fluvial_tensor::{Complex, DType, Element, dispatch_compute};

use super::inst::{Binary, Inst, Unary};
use super::{complex, float, int};
use crate::lanes::Ahead;

/// Receives the function of a unary operation.
pub(crate) trait VisitUnary<T> {
    /// What the visitor makes of it.
    type Output;
    /// Called once, with the function.
    fn visit(self, f: impl Fn(T) -> T) -> Self::Output;

    /// Called instead of `visit` with a function that no loop is faster for when it is vectorised: it
    /// calls others, or branches.
    #[inline(always)]
    fn visit_slow(self, f: impl Fn(T) -> T) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(f)
    }

    /// Called instead of `visit` with a function in two parts: `fast` has no branches and is for the
    /// usual numbers, `slow` is for the others.
    #[inline(always)]
    fn visit_usual(
        self,
        is_usual: impl Fn(T) -> bool,
        fast: impl Fn(T) -> T,
        slow: impl Fn(T) -> T,
    ) -> Self::Output
    where
        Self: Sized,
        T: Copy,
    {
        self.visit(
            #[inline(always)]
            |x| if is_usual(x) { fast(x) } else { slow(x) },
        )
    }

    /// Called instead of `visit` with a function that is best computed for many numbers at once, by
    /// instructions that no compiler finds: `many` has the bits of `one`.
    #[inline(always)]
    fn visit_many(
        self,
        one: impl Fn(T) -> T,
        _many: impl Fn(&[T], &mut [T], Ahead<T>),
    ) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(one)
    }
}

/// Receives the function of a binary operation.
pub(crate) trait VisitBinary<T> {
    /// What the visitor makes of it.
    type Output;
    /// Called once, with the function.
    fn visit(self, f: impl Fn(T, T) -> T) -> Self::Output;

    /// Called instead of `visit`, as [`VisitUnary::visit_slow`].
    #[inline(always)]
    fn visit_slow(self, f: impl Fn(T, T) -> T) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(f)
    }

    /// Called instead of `visit` with a function in two parts, as [`VisitUnary::visit_usual`].
    #[inline(always)]
    fn visit_usual(
        self,
        are_usual: impl Fn(T, T) -> bool,
        fast: impl Fn(T, T) -> T,
        slow: impl Fn(T, T) -> T,
    ) -> Self::Output
    where
        Self: Sized,
        T: Copy,
    {
        self.visit(
            #[inline(always)]
            |a, b| if are_usual(a, b) { fast(a, b) } else { slow(a, b) },
        )
    }
}

/// A type that bodies compute in.
pub(crate) trait Compute: Element {
    /// Whether bodies are compiled for the widest vectors too. Few compute in integers, so that these are
    /// not worth the time.
    const WIDEST: bool;

    /// Shows the visitor the function of `op`; `None` if the type does not have it.
    fn unary<V: VisitUnary<Self>>(op: Unary, visitor: V) -> Option<V::Output>;

    /// Shows the visitor the function of `op`; `None` if the type does not have it.
    fn binary<V: VisitBinary<Self>>(op: Binary, visitor: V) -> Option<V::Output>;

    /// The function of [`Binary::Add`].
    fn plus(self, other: Self) -> Self;

    /// The function of [`Binary::Mul`].
    fn times(self, other: Self) -> Self;

    /// The function of [`Binary::Max`].
    fn larger(self, other: Self) -> Self;

    /// The function of [`Binary::Min`].
    fn smaller(self, other: Self) -> Self;
}

/// Connects types to the module that has their functions.
macro_rules! compute {
    ($module:ident, $widest:literal: $($T:ty)*) => {$(
        impl Compute for $T {
            const WIDEST: bool = $widest;

            #[inline(always)]
            fn unary<V: VisitUnary<Self>>(op: Unary, visitor: V) -> Option<V::Output> {
                $module::unary(op, visitor)
            }

            #[inline(always)]
            fn binary<V: VisitBinary<Self>>(op: Binary, visitor: V) -> Option<V::Output> {
                $module::binary(op, visitor)
            }

            compute!(@methods $module: plus times larger smaller);
        }
    )*};
    (@methods $module:ident: $($method:ident)*) => {$(
        #[inline(always)]
        fn $method(self, other: Self) -> Self {
            $module::$method(self, other)
        }
    )*};
}

compute!(float, true: f32 f64);
compute!(int, false: u8 i8 i32 i64 u64);
compute!(complex, false: Complex<f32> Complex<f64>);

/// A visitor that applies the function to one value.
pub(crate) struct ToOne<T>(pub(crate) T);

impl<T> VisitUnary<T> for ToOne<T> {
    type Output = T;

    #[inline(always)]
    fn visit(self, f: impl Fn(T) -> T) -> T {
        f(self.0)
    }
}

/// A visitor that applies the function to a pair of values.
pub(crate) struct ToPair<T>(pub(crate) T, pub(crate) T);

impl<T> VisitBinary<T> for ToPair<T> {
    type Output = T;

    #[inline(always)]
    fn visit(self, f: impl Fn(T, T) -> T) -> T {
        f(self.0, self.1)
    }
}

/// A visitor that only finds out whether there is a function.
struct Exists;

impl<T> VisitUnary<T> for Exists {
    type Output = ();
    fn visit(self, _: impl Fn(T) -> T) {}
}

impl<T> VisitBinary<T> for Exists {
    type Output = ();
    fn visit(self, _: impl Fn(T, T) -> T) {}
}

/// Whether the instruction has a meaning in the compute dtype.
pub(crate) fn is_defined(inst: Inst, compute: DType) -> bool {
    dispatch_compute!(compute, C => match inst {
        Inst::Unary(op, _) => C::unary(op, Exists).is_some(),
        Inst::Binary(op, ..) => C::binary(op, Exists).is_some(),
        Inst::Input(_) | Inst::Param(_) | Inst::Const(_) | Inst::Select(..) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_defined_where() {
        for &op in Unary::ALL {
            let bits = op == Unary::BitNot;
            assert_eq!(is_defined(Inst::Unary(op, 0), DType::F32), !bits, "{op:?}");
            let whole = matches!(
                op,
                Unary::Neg | Unary::Abs | Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round
            ) || matches!(op, Unary::Trunc | Unary::Not | Unary::BitNot)
                || op as u8 >= Unary::IsNan as u8;
            assert_eq!(is_defined(Inst::Unary(op, 0), DType::I32), whole, "{op:?}");
        }
        for &op in Binary::ALL.iter().filter(|&&op| op != Binary::Complex) {
            let bits = op as u8 >= Binary::BitAnd as u8;
            assert_eq!(is_defined(Inst::Binary(op, 0, 0), DType::F64), !bits, "{op:?}");
            let real = (Binary::Atan2 as u8..=Binary::Polygamma as u8).contains(&(op as u8));
            assert_eq!(is_defined(Inst::Binary(op, 0, 0), DType::U8), !real, "{op:?}");
        }
    }
}
