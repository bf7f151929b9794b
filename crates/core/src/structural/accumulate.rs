//! `accumulate`: the sum of two cotangents of one value.

use fluvial_kernels::Body;
use fluvial_tensor::{DType, Error, Result, Tensor, Type};
use smallvec::smallvec;

use super::arithmetic::{ADD, f64s};
use crate::bind::bind1;
use crate::grad::{Grad, Keeps};
use crate::kernel::{Kernel, ListKernel};
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::sample::Sample;
use crate::value::{List, Value};
use crate::var::Var;
use crate::{attributes, grads};

/// The sum of two cotangents: tensors of one type, or lists, added element by element from the
/// top.
#[track_caller]
pub fn accumulate(a: &Var, b: &Var) -> Result<Var> {
    bind1(Accumulate {}, &[a, b])
}

attributes! {
    /// The op behind [`accumulate`].
    pub struct Accumulate = "accumulate" {}
}

impl Op for Accumulate {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (a, b) = (inputs[0], inputs[1]);
        let both_lists = a.is_list() && a.lists() == b.lists() && a.dtype() == b.dtype();
        if a != b && !both_lists {
            return Err(Error::shape("cotangents of one value must have one type"));
        }
        Ok(smallvec![*a])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![sum(inputs[0], inputs[1])?])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy(), p.dy()])
    }

    fn properties(&self) -> Properties {
        Properties { broadcasts: false, ..Properties::ELEMENTWISE }
    }

    fn body(&self) -> Option<&Body> {
        ADD.body()
    }

    fn body_dtype(&self, inputs: &[&Type]) -> Option<DType> {
        // Lists have no elements of one expression.
        inputs.iter().all(|ty| !ty.is_list()).then(|| inputs[0].dtype().compute())
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        match inputs[0].is_list() {
            true => Ok(Some(Kernel::List(ListKernel::Add))),
            false => ADD.kernel(inputs, outs),
        }
    }
}

fn sum(a: &Value, b: &Value) -> Result<Value> {
    let (Value::List(a), Value::List(b)) = (a, b) else {
        let ty = a.ty();
        return ADD.eval(&[a, b], &[ty]).map(|mut outputs| outputs.remove(0));
    };
    if a.len() != b.len() {
        return Err(Error::gradient(format!(
            "cotangents of one list have {} and {} elements",
            a.len(),
            b.len()
        )));
    }
    let sums = a.iter().zip(b.iter()).map(|(x, y)| sum(x, y)).collect::<Result<Vec<_>>>()?;
    List::from_bottom(a.element(), sums.into_iter().rev()).map(Value::List)
}

pub(super) const DEF: OpDef = OpDef::new(Accumulate::NAME, Accumulate::build, || {
    let (a, b) = (f64s(&[1.0, -2.0], &[2]), f64s(&[0.5, 4.0], &[2]));
    let list = |x: &Tensor, y: &Tensor| -> Value {
        let pair = [x.clone().into(), y.clone().into()];
        List::from_bottom(x.ty(), pair).expect("two elements of one type").into()
    };
    vec![
        Sample::new(Accumulate {}, [a.clone(), b.clone()]).gives([f64s(&[1.5, 2.0], &[2])]),
        Sample::of_values(Accumulate {}, [list(&a, &b), list(&b, &b)])
            .gives_values([list(&f64s(&[1.5, 2.0], &[2]), &f64s(&[1.0, 8.0], &[2]))]),
        Sample::new(Accumulate {}, [a, f64s(&[1.0], &[])]).refused("must have one type"),
    ]
});
