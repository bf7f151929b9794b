//! `constant`: a tensor that is part of the program.

use fluvial_tensor::{Result, Tensor, Type};
use smallvec::smallvec;

use super::arithmetic::f64s;
use crate::attributes;
use crate::bind::bind1;
use crate::grad::Grad;
use crate::op::{Arity, Op, Takes, Types, Values};
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::value::Value;
use crate::var::Var;

/// A value that is part of the program.
#[track_caller]
pub fn constant(value: Tensor) -> Result<Var> {
    bind1(Constant { value }, &[])
}

attributes! {
    /// The op behind [`constant`].
    pub struct Constant = "constant" {
        /// The value.
        pub value: Tensor,
    }
}

impl Op for Constant {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.value.ty()])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![self.value.clone().into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

pub(super) const DEF: OpDef = OpDef::new(Constant::NAME, Constant::build, || {
    let value = f64s(&[1.0, f64::INFINITY, -0.0, 0.1], &[2, 2]);
    vec![Sample::new(Constant { value: value.clone() }, []).gives([value])]
});
