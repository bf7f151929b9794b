//! `fill`: one number everywhere.

use fluvial_tensor::{DType, Element, Error, Number, Result, Tensor, Type, dispatch};
use smallvec::smallvec;

use crate::attributes;
use crate::bind::bind1;
use crate::family::known_sizes;
use crate::grad::Grad;
use crate::op::{Arity, Op, Takes, Types, Values};
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::scope::{self, at};
use crate::structural::arithmetic::f64s;
use crate::structural::expand;
use crate::value::Value;
use crate::var::Var;

/// A tensor of this type with the same number everywhere, which the element type has to hold ([`Number`]).
#[track_caller]
pub fn fill(value: impl Into<Number>, ty: &Type) -> Result<Var> {
    let number = value.into();
    let is_complex = matches!(number, Number::Complex(_));
    if (ty.dtype().is_int() || is_complex) && !ty.is_list() {
        let loc = scope::user_line();
        let one = number.element(ty.dtype()).map_err(|error| error.at(loc))?;
        // The op's attribute would round it, or has no place for its imaginary part.
        if !number.is_exact() {
            let _line = at(loc);
            return expand(&Var::new(one), ty.dims());
        }
    }
    bind1(Fill { value: number.to_f64(), ty: *ty }, &[])
}

attributes! {
    /// The op behind [`fill`].
    pub struct Fill = "fill" {
        /// The number.
        pub value: f64,
        /// The type of the result; its sizes may be symbols.
        pub ty: Type,
    }
}

impl Op for Fill {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        match self.ty.is_list() {
            true => Err(Error::dtype(format!("{} cannot be filled with a number", self.ty))),
            false => {
                Number::Float(self.value).check(self.ty.dtype())?;
                Ok(smallvec![self.ty])
            }
        }
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        Number::Float(self.value).check(self.ty.dtype())?;
        let one = dispatch!(self.ty.dtype(), T => Tensor::scalar(self.number::<T>()));
        Ok(smallvec![one.expand(&known_sizes(&outs[0])?)?.into()])
    }

    fn uniform(&self) -> Option<f64> {
        // Minus zero in both parts is not a real number.
        let is_minus_zero = self.value == 0.0 && self.value.is_sign_negative();
        if self.ty.dtype().is_complex() && is_minus_zero {
            return None;
        }
        Some(dispatch!(self.ty.dtype(), T => <T as Element>::from_f64(self.value).to_f64()))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

impl Fill {
    /// The number. Minus zero is that in both parts, so that it changes no number it is added to.
    fn number<T: Element>(&self) -> T {
        match self.value.to_bits() == (-0.0f64).to_bits() {
            true => T::from_parts(self.value, self.value),
            false => T::from_f64(self.value),
        }
    }
}

pub(super) const DEF: OpDef = OpDef::new(Fill::NAME, Fill::build, || {
    let expected = f64s(&[2.5; 6], &[2, 3]);
    vec![
        Sample::new(Fill { value: 2.5, ty: expected.ty() }, []).gives([expected]),
        Sample::new(Fill { value: -1.0, ty: f64s(&[0.0], &[]).ty() }, [])
            .gives([f64s(&[-1.0], &[])]),
        Sample::new(Fill { value: 300.0, ty: Type::scalar(DType::U8) }, [])
            .refused("300 does not fit uint8"),
        Sample::new(Fill { value: f64::NAN, ty: Type::scalar(DType::I32) }, [])
            .refused("NaN does not fit int32"),
    ]
});
