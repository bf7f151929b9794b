//! Rust's operators on [`Var`]. A failed one gives a failed `Var` that carries its error.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::structural;
use crate::var::Var;

/// Implements an operator between values and numbers, owned or borrowed.
macro_rules! operator {
    ($trait:ident, $method:ident, $function:path) => {
        operator!($trait, $method, $function; Var, Var; Var, &Var; &Var, Var; &Var, &Var);
        operator!($trait, $method, $function, number; Var; &Var);
    };
    ($trait:ident, $method:ident, $function:path; $($left:ty, $right:ty);*) => {$(
        impl $trait<$right> for $left {
            type Output = Var;
            #[track_caller]
            fn $method(self, right: $right) -> Var {
                $function(&self, &right).unwrap_or_else(Var::failed)
            }
        }
    )*};
    ($trait:ident, $method:ident, $function:path, number; $($var:ty);*) => {$(
        impl $trait<f64> for $var {
            type Output = Var;
            #[track_caller]
            fn $method(self, right: f64) -> Var {
                $function(&self, &self.literal(right)).unwrap_or_else(Var::failed)
            }
        }
        impl $trait<$var> for f64 {
            type Output = Var;
            #[track_caller]
            fn $method(self, right: $var) -> Var {
                $function(&right.literal(self), &right).unwrap_or_else(Var::failed)
            }
        }
    )*};
}

operator!(Add, add, structural::add);
operator!(Sub, sub, structural::sub);
operator!(Mul, mul, structural::mul);
operator!(Div, div, structural::div);

impl Neg for Var {
    type Output = Var;
    #[track_caller]
    fn neg(self) -> Var {
        structural::neg(&self).unwrap_or_else(Var::failed)
    }
}

impl Neg for &Var {
    type Output = Var;
    #[track_caller]
    fn neg(self) -> Var {
        structural::neg(self).unwrap_or_else(Var::failed)
    }
}
