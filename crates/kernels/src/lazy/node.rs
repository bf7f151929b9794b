//! The types that expressions are made of.

use fluvial_tensor::{Element, Tensor};

use crate::scalar::compute::{Compute, ToOne, ToPair, VisitBinary, VisitUnary};
use crate::scalar::{Binary, Unary};

/// An expression: a tensor, a number, or functions of other expressions.
pub trait Expression: Copy + Sync {
    /// The expression with its tensors replaced by the memory of a tile.
    #[doc(hidden)]
    type Ready<C: Real>: Ready<C>;

    /// About how many additions an element costs.
    #[doc(hidden)]
    const COST: usize;

    /// Calls `f` with each tensor, from left to right.
    #[doc(hidden)]
    fn sources<'a>(&self, f: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a;

    /// Takes the tiles of its tensors, from left to right.
    #[doc(hidden)]
    fn ready<C: Real>(&self, tiles: &mut impl Iterator<Item = *const C>) -> Self::Ready<C>;
}

/// An expression over the elements of a tile.
#[doc(hidden)]
pub trait Ready<C>: Copy {
    /// Element `i`, by functions without branches. Sets `usual` to false if one of them is not for its
    /// number, so that the result may be wrong.
    ///
    /// # Safety
    ///
    /// The tiles have an element `i`.
    unsafe fn fast(&self, i: usize, usual: &mut bool) -> C;

    /// Element `i`.
    ///
    /// # Safety
    ///
    /// The tiles have an element `i`.
    unsafe fn exact(&self, i: usize) -> C;
}

/// A type that expressions are computed in, with the functions of the scalar machine.
#[doc(hidden)]
pub trait Real: Element + PartialOrd {
    /// By a function without branches, if there is one; see [`Ready::fast`].
    fn fast_one(op: Unary, x: Self, usual: &mut bool) -> Self;
    fn fast_two(op: Binary, a: Self, b: Self, usual: &mut bool) -> Self;
    fn exact_one(op: Unary, x: Self) -> Self;
    fn exact_two(op: Binary, a: Self, b: Self) -> Self;
}

macro_rules! real {
    ($($T:ty)*) => {$(
        impl Real for $T {
            #[inline(always)]
            fn fast_one(op: Unary, x: Self, usual: &mut bool) -> Self {
                <$T as Compute>::unary(op, FastOne(x, usual)).unwrap_or_default()
            }

            #[inline(always)]
            fn fast_two(op: Binary, a: Self, b: Self, usual: &mut bool) -> Self {
                <$T as Compute>::binary(op, FastTwo(a, b, usual)).unwrap_or_default()
            }

            #[inline(always)]
            fn exact_one(op: Unary, x: Self) -> Self {
                <$T as Compute>::unary(op, ToOne(x)).unwrap_or_default()
            }

            #[inline(always)]
            fn exact_two(op: Binary, a: Self, b: Self) -> Self {
                <$T as Compute>::binary(op, ToPair(a, b)).unwrap_or_default()
            }
        }
    )*};
}

real!(f32 f64);

/// Applies the fast part of a function.
struct FastOne<'a, C>(C, &'a mut bool);

impl<C: Copy> VisitUnary<C> for FastOne<'_, C> {
    type Output = C;

    #[inline(always)]
    fn visit(self, f: impl Fn(C) -> C) -> C {
        f(self.0)
    }

    #[inline(always)]
    fn visit_usual(
        self,
        is_usual: impl Fn(C) -> bool,
        fast: impl Fn(C) -> C,
        _: impl Fn(C) -> C,
    ) -> C {
        *self.1 &= is_usual(self.0);
        fast(self.0)
    }
}

/// Applies the fast part of a function of two numbers.
struct FastTwo<'a, C>(C, C, &'a mut bool);

impl<C: Copy> VisitBinary<C> for FastTwo<'_, C> {
    type Output = C;

    #[inline(always)]
    fn visit(self, f: impl Fn(C, C) -> C) -> C {
        f(self.0, self.1)
    }

    #[inline(always)]
    fn visit_usual(
        self,
        are_usual: impl Fn(C, C) -> bool,
        fast: impl Fn(C, C) -> C,
        _: impl Fn(C, C) -> C,
    ) -> C {
        *self.2 &= are_usual(self.0, self.1);
        fast(self.0, self.1)
    }
}

/// A tensor.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t>(pub(super) &'t Tensor);

/// A number, rounded to the type of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub(super) f64);

/// A function of one expression, by its number.
#[derive(Clone, Copy, Debug)]
pub struct One<const OP: u8, A>(pub(super) A);

/// A function of two expressions, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Two<const OP: u8, A, B>(pub(super) A, pub(super) B);

/// The second where the first is not 0, else the third.
#[derive(Clone, Copy, Debug)]
pub struct Choice<A, B, D>(pub(super) A, pub(super) B, pub(super) D);

/// The memory of a tile.
#[derive(Clone, Copy)]
pub struct Tile<C>(*const C);

/// A number of the type of the computation.
#[derive(Clone, Copy)]
pub struct Number<C>(C);

impl Expression for Source<'_> {
    type Ready<C: Real> = Tile<C>;
    const COST: usize = 1;

    fn sources<'a>(&self, f: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a,
    {
        f(self.0);
    }

    #[inline(always)]
    fn ready<C: Real>(&self, tiles: &mut impl Iterator<Item = *const C>) -> Tile<C> {
        Tile(tiles.next().unwrap_or(std::ptr::null()))
    }
}

impl<C: Real> Ready<C> for Tile<C> {
    #[inline(always)]
    unsafe fn fast(&self, i: usize, _: &mut bool) -> C {
        // SAFETY: by the caller's promise.
        unsafe { *self.0.add(i) }
    }

    #[inline(always)]
    unsafe fn exact(&self, i: usize) -> C {
        // SAFETY: by the caller's promise.
        unsafe { *self.0.add(i) }
    }
}

impl Expression for Constant {
    type Ready<C: Real> = Number<C>;
    const COST: usize = 0;

    fn sources<'a>(&self, _: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a,
    {
    }

    #[inline(always)]
    fn ready<C: Real>(&self, _: &mut impl Iterator<Item = *const C>) -> Number<C> {
        Number(C::from_f64(self.0))
    }
}

impl<C: Real> Ready<C> for Number<C> {
    #[inline(always)]
    unsafe fn fast(&self, _: usize, _: &mut bool) -> C {
        self.0
    }

    #[inline(always)]
    unsafe fn exact(&self, _: usize) -> C {
        self.0
    }
}

impl<const OP: u8, A: Expression> Expression for One<OP, A> {
    type Ready<C: Real> = One<OP, A::Ready<C>>;
    const COST: usize =
        A::COST + if OP == Unary::Neg as u8 || OP == Unary::Abs as u8 { 1 } else { 8 };

    fn sources<'a>(&self, f: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a,
    {
        self.0.sources(f);
    }

    #[inline(always)]
    fn ready<C: Real>(&self, tiles: &mut impl Iterator<Item = *const C>) -> Self::Ready<C> {
        One(self.0.ready(tiles))
    }
}

impl<const OP: u8, C: Real, A: Ready<C>> Ready<C> for One<OP, A> {
    #[inline(always)]
    unsafe fn fast(&self, i: usize, usual: &mut bool) -> C {
        // SAFETY: by the caller's promise.
        let x = unsafe { self.0.fast(i, usual) };
        C::fast_one(const { Unary::ALL[OP as usize] }, x, usual)
    }

    #[inline(always)]
    unsafe fn exact(&self, i: usize) -> C {
        // SAFETY: by the caller's promise.
        C::exact_one(const { Unary::ALL[OP as usize] }, unsafe { self.0.exact(i) })
    }
}

impl<const OP: u8, A: Expression, B: Expression> Expression for Two<OP, A, B> {
    type Ready<C: Real> = Two<OP, A::Ready<C>, B::Ready<C>>;
    const COST: usize = A::COST + B::COST + if OP == Binary::Pow as u8 { 16 } else { 1 };

    fn sources<'a>(&self, f: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a,
    {
        self.0.sources(f);
        self.1.sources(f);
    }

    #[inline(always)]
    fn ready<C: Real>(&self, tiles: &mut impl Iterator<Item = *const C>) -> Self::Ready<C> {
        let first = self.0.ready(tiles);
        Two(first, self.1.ready(tiles))
    }
}

impl<const OP: u8, C: Real, A: Ready<C>, B: Ready<C>> Ready<C> for Two<OP, A, B> {
    #[inline(always)]
    unsafe fn fast(&self, i: usize, usual: &mut bool) -> C {
        // SAFETY: by the caller's promise.
        let (a, b) = unsafe { (self.0.fast(i, usual), self.1.fast(i, usual)) };
        C::fast_two(const { Binary::ALL[OP as usize] }, a, b, usual)
    }

    #[inline(always)]
    unsafe fn exact(&self, i: usize) -> C {
        // SAFETY: by the caller's promise.
        let (a, b) = unsafe { (self.0.exact(i), self.1.exact(i)) };
        C::exact_two(const { Binary::ALL[OP as usize] }, a, b)
    }
}

impl<A: Expression, B: Expression, D: Expression> Expression for Choice<A, B, D> {
    type Ready<C: Real> = Choice<A::Ready<C>, B::Ready<C>, D::Ready<C>>;
    const COST: usize = A::COST + B::COST + D::COST + 1;

    fn sources<'a>(&self, f: &mut dyn FnMut(&'a Tensor))
    where
        Self: 'a,
    {
        self.0.sources(f);
        self.1.sources(f);
        self.2.sources(f);
    }

    #[inline(always)]
    fn ready<C: Real>(&self, tiles: &mut impl Iterator<Item = *const C>) -> Self::Ready<C> {
        let first = self.0.ready(tiles);
        let second = self.1.ready(tiles);
        Choice(first, second, self.2.ready(tiles))
    }
}

impl<C: Real, A: Ready<C>, B: Ready<C>, D: Ready<C>> Ready<C> for Choice<A, B, D> {
    #[inline(always)]
    unsafe fn fast(&self, i: usize, usual: &mut bool) -> C {
        // SAFETY: by the caller's promise.
        let (condition, a, b) =
            unsafe { (self.0.fast(i, usual), self.1.fast(i, usual), self.2.fast(i, usual)) };
        if condition != C::default() { a } else { b }
    }

    #[inline(always)]
    unsafe fn exact(&self, i: usize) -> C {
        // SAFETY: by the caller's promise.
        let (condition, a, b) = unsafe { (self.0.exact(i), self.1.exact(i), self.2.exact(i)) };
        if condition != C::default() { a } else { b }
    }
}
