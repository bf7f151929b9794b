//! `fill`: one number everywhere.

use fluvial_tensor::{DType, Element, Error, Number, Result, Type, dispatch};
use smallvec::smallvec;

use crate::attributes;
use crate::bind::bind1;
use crate::family::known_sizes;
use crate::grad::Grad;
use crate::op::{Arity, Op, Types, Values};
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
    if ty.dtype().is_int() && !ty.is_list() {
        let loc = scope::user_line();
        let one = number.element(ty.dtype()).map_err(|error| error.at(loc))?;
        // The op's attribute would round it.
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
        let one = Number::Float(self.value).element(self.ty.dtype())?;
        Ok(smallvec![one.expand(&known_sizes(&outs[0])?)?.into()])
    }

    fn uniform(&self) -> Option<f64> {
        Some(dispatch!(self.ty.dtype(), T => T::from_f64(self.value).to_f64()))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
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
