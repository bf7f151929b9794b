//! Elementwise expressions over tensors, composed at compile time into one loop.
//!
//! [`lazy`] wraps a tensor; operators and methods build a type that says what to compute, and [`Lazy::eval`]
//! computes it in one vectorised loop, without a tensor for any step in between:
//!
//! ```
//! use fluvial_kernels::lazy;
//! use fluvial_tensor::Tensor;
//!
//! let x = Tensor::from_slice(&[0.0f32, 1.0, 2.0], &[3])?;
//! let scale = Tensor::from_slice(&[2.0f32, 0.5], &[2, 1])?;
//! let y = (lazy(&x) * lazy(&scale) + 1.0).sqrt().eval()?;
//! assert_eq!(y.dims(), [2, 3]);
//! assert_eq!(y.to_vec::<f32>()?[..2], [1.0, 3f32.sqrt()]);
//! # Ok::<(), fluvial_tensor::Error>(())
//! ```
//!
//! Tensors broadcast by numpy's rules and may have any layout. Where they are contiguous they are read in
//! place, else tile by tile through a small buffer. The functions are those of [`Body`](crate::Body),
//! which is the same for expressions that are known at run time only, and results have the same bits;
//! see there for what each does at its limits. Large tensors are shared by the threads; results do not
//! depend on their number.
//!
//! [`node`] has the types that expressions are made of, [`eval`] the loop.

mod eval;
mod node;

#[cfg(test)]
mod tests;

use std::ops::{Add, Div, Mul, Neg, Sub};

use fluvial_tensor::{DType, Result, Tensor};

use crate::scalar::{Binary, Unary};
pub use node::Expression;
pub(crate) use node::Real;
use node::{Choice, Constant, One, Source, Two};

/// The elements of a tensor, as an expression.
pub fn lazy(x: &Tensor) -> Lazy<Source<'_>> {
    Lazy(Source(x))
}

/// An elementwise expression that is not computed yet. Copies of it are cheap; what occurs twice in an
/// expression is computed twice.
#[derive(Clone, Copy, Debug)]
pub struct Lazy<E>(E);

/// What can stand beside an expression: another one, or a number.
pub trait Operand {
    /// The expression it is.
    type Node: Expression;
    /// The expression it is.
    fn node(self) -> Self::Node;
}

impl<E: Expression> Operand for Lazy<E> {
    type Node = E;
    fn node(self) -> E {
        self.0
    }
}

impl Operand for f64 {
    type Node = Constant;
    fn node(self) -> Constant {
        Constant(self)
    }
}

impl<E: Expression> Lazy<E> {
    /// Computes the expression, in the float type where its tensors meet: `f32` or `f64`.
    pub fn eval(self) -> Result<Tensor> {
        self.eval_in(eval::dtype(&self.0)?)
    }

    /// Computes the expression in `f32` or `f64`, to which its tensors are converted.
    pub fn eval_in(self, dtype: DType) -> Result<Tensor> {
        let mut out = Tensor::empty(dtype, &eval::dims(&self.0)?)?;
        self.eval_into(&mut out)?;
        Ok(out)
    }

    /// Computes the expression, in the dtype of `out`, into a contiguous tensor that nothing else
    /// shares; its own shape may be one that broadcasts to that of `out`.
    pub fn eval_into(self, out: &mut Tensor) -> Result<()> {
        eval::eval(&self.0, out)
    }

    /// The sum of all elements, which are not stored; 0 if there are none.
    pub fn sum(self) -> Result<Tensor> {
        eval::sum(&self.0)
    }

    /// The largest of all elements, NaN if there is one; negative infinity if there are none.
    pub fn max(self) -> Result<Tensor> {
        eval::max(&self.0)
    }

    /// `a` where this is not 0, else `b`.
    pub fn select<A: Operand, B: Operand>(self, a: A, b: B) -> Lazy<Choice<E, A::Node, B::Node>> {
        Lazy(Choice(self.0, a.node(), b.node()))
    }
}

/// Methods named as those of [`S`](crate::S).
macro_rules! functions {
    ($($name:ident $Op:ident $doc:literal,)*; $($name2:ident $Op2:ident $doc2:literal,)*) => {
        impl<E: Expression> Lazy<E> {
            $(
                #[doc = $doc]
                pub fn $name(self) -> Lazy<One<{ Unary::$Op as u8 }, E>> {
                    Lazy(One(self.0))
                }
            )*
            $(
                #[doc = $doc2]
                pub fn $name2<O: Operand>(
                    self,
                    other: O,
                ) -> Lazy<Two<{ Binary::$Op2 as u8 }, E, O::Node>> {
                    Lazy(Two(self.0, other.node()))
                }
            )*
        }
    };
}

functions! {
    abs Abs "The absolute value.",
    sign Sign "-1, 0 or 1.",
    sqrt Sqrt "The square root.",
    rsqrt Rsqrt "One over the square root.",
    recip Recip "One over the element.",
    exp Exp "e to the power of the element.",
    expm1 Expm1 "e to the power of the element, minus one.",
    exp2 Exp2 "2 to the power of the element.",
    log Log "The natural logarithm.",
    log1p Log1p "The natural logarithm of one plus the element.",
    log2 Log2 "The logarithm to base 2.",
    sin Sin "The sine.",
    cos Cos "The cosine.",
    tanh Tanh "The hyperbolic tangent.",
    erf Erf "The error function.",
    sigmoid Sigmoid "`1 / (1 + exp(-x))`.",
    silu Silu "`x * sigmoid(x)`.",
    gelu Gelu "`x` times the chance that a normal number is below `x`.",
    gelu_tanh GeluTanh "The approximation of `gelu` with a hyperbolic tangent.",
    floor Floor "Rounded down.",
    ceil Ceil "Rounded up.",
    round Round "Rounded to the nearest whole number, to the even one of two.",
    trunc Trunc "Rounded towards 0.",
    ;
    pow Pow "To this power.",
    maximum Max "The larger of both; NaN if one is.",
    minimum Min "The smaller of both; NaN if one is.",
    lt Lt "1 where less, else 0.",
    le Le "1 where less or equal, else 0.",
    gt Gt "1 where greater, else 0.",
    ge Ge "1 where greater or equal, else 0.",
    eq Eq "1 where equal, else 0.",
    ne Ne "1 where not equal, else 0.",
}

/// An operator between two expressions, and between an expression and a number.
macro_rules! operators {
    ($($Trait:ident $method:ident)*) => {$(
        impl<E: Expression, O: Operand> $Trait<O> for Lazy<E> {
            type Output = Lazy<Two<{ Binary::$Trait as u8 }, E, O::Node>>;
            fn $method(self, other: O) -> Self::Output {
                Lazy(Two(self.0, other.node()))
            }
        }

        impl<E: Expression> $Trait<Lazy<E>> for f64 {
            type Output = Lazy<Two<{ Binary::$Trait as u8 }, Constant, E>>;
            fn $method(self, other: Lazy<E>) -> Self::Output {
                Lazy(Two(Constant(self), other.0))
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul Div div }

impl<E: Expression> Neg for Lazy<E> {
    type Output = Lazy<One<{ Unary::Neg as u8 }, E>>;
    fn neg(self) -> Self::Output {
        Lazy(One(self.0))
    }
}
