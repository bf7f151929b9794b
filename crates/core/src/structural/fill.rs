//! `fill`: one number everywhere.

use fluvial_tensor::{Element, Error, Result, Tensor, Type, dispatch};
use smallvec::smallvec;

use crate::attributes;
use crate::bind::bind1;
use crate::family::known_sizes;
use crate::grad::Grad;
use crate::op::{Arity, Op, Types, Values};
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::structural::arithmetic::f64s;
use crate::value::Value;
use crate::var::Var;

/// A tensor of this type with the same number everywhere.
#[track_caller]
pub fn fill(value: f64, ty: &Type) -> Result<Var> {
    bind1(Fill { value, ty: *ty }, &[])
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
            false => Ok(smallvec![self.ty]),
        }
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        let one = dispatch!(self.ty.dtype(), T => Tensor::scalar(T::from_f64(self.value)));
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
    ]
});
