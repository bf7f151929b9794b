//! `stop_gradient`: the value as a constant.

use fluvial_tensor::{Result, Type};
use smallvec::smallvec;

use super::arithmetic::f64s;
use crate::attributes;
use crate::batch::Batch;
use crate::bind::{Outputs, bind1};
use crate::block::ValueId;
use crate::grad::Grad;
use crate::kernel::Kernel;
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::rewrite::{NewValues, Rewrite};
use crate::sample::Sample;
use crate::value::Value;
use crate::var::Var;

/// The value as it is, with no gradient through it.
#[track_caller]
pub fn stop_gradient(x: &Var) -> Result<Var> {
    bind1(StopGradient {}, &[x])
}

attributes! {
    /// The op behind [`stop_gradient`].
    pub struct StopGradient = "stop_gradient" {}
}

impl Op for StopGradient {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].clone()])
    }

    fn simplify(&self, _: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        // Gradients have been taken when programs are simplified.
        Ok(Some(smallvec![inputs[0]]))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn is_by_element(&self) -> bool {
        true
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Same(0)))
    }
}

pub(super) const DEF: OpDef = OpDef::new(StopGradient::NAME, StopGradient::build, || {
    let x = f64s(&[1.0, -2.0], &[2]);
    vec![Sample::new(StopGradient {}, [x.clone()]).gives([x])]
});
