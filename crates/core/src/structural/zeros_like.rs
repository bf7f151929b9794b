//! `zeros_like`: the zero cotangent of a value, also of a list.

use fluvial_tensor::{Result, Tensor, Type, dispatch};
use smallvec::smallvec;

use super::arithmetic::f64s;
use super::fill::Fill;
use crate::attributes;
use crate::batch::Batch;
use crate::bind::{Outputs, bind1};
use crate::block::ValueId;
use crate::grad::Grad;
use crate::kernel::{Kernel, ListKernel};
use crate::op::{Arity, Op, Takes, Types, Values};
use crate::registry::OpDef;
use crate::rewrite::{NewValues, Rewrite};
use crate::sample::Sample;
use crate::value::{List, Value};
use crate::var::Var;

/// Zeros in the shape of `x`; for a list, a list of zeros.
#[track_caller]
pub fn zeros_like(x: &Var) -> Result<Var> {
    bind1(ZerosLike {}, &[x])
}

attributes! {
    /// The op behind [`zeros_like`].
    pub struct ZerosLike = "zeros_like" {}
}

impl Op for ZerosLike {
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
        Ok(smallvec![zeros(inputs[0])?])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let ty = *on.ty(inputs[0]);
        if ty.is_list() {
            return Ok(None);
        }
        on.call(Fill { value: 0.0, ty }, &[]).map(Some)
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(match inputs[0].is_list() {
            true => Kernel::List(ListKernel::Zeros),
            false => Kernel::Fill(0.0),
        }))
    }
}

fn zeros(value: &Value) -> Result<Value> {
    match value {
        Value::Tensor(_) | Value::Device(_) => {
            let tensor = value.tensor()?;
            let zero = dispatch!(tensor.dtype(), T => Tensor::scalar(T::default()));
            zero.expand(tensor.dims()).map(Value::Tensor)
        }
        Value::List(list) => {
            let items = list.iter().map(zeros).collect::<Result<Vec<_>>>()?;
            List::from_bottom(list.element(), items.into_iter().rev()).map(Value::List)
        }
        Value::Channel(_) => value.tensor().map(|_| value.clone()),
    }
}

pub(super) const DEF: OpDef = OpDef::new(ZerosLike::NAME, ZerosLike::build, || {
    let x = f64s(&[1.0, -2.0], &[2]);
    let list = |x: &Tensor| -> Value {
        List::from_bottom(x.ty(), [x.clone().into()]).expect("one element").into()
    };
    let zero = f64s(&[0.0, 0.0], &[2]);
    vec![
        Sample::new(ZerosLike {}, [x.clone()]).gives([zero.clone()]),
        Sample::of_values(ZerosLike {}, [list(&x)]).gives_values([list(&zero)]),
    ]
});
