//! `list_len`: the number of elements of a list.

use super::samples::list;
use crate::prelude::*;

/// The number of elements of a list, an `i64` scalar.
#[track_caller]
pub fn list_len(list: &Var) -> Result<Var> {
    bind1(ListLen {}, &[list])
}

attributes! {
    /// The op behind [`list_len`].
    pub struct ListLen = "list_len" {}
}

impl Op for ListLen {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0].element().is_some() {
            true => Ok(smallvec![Type::scalar(DType::I64)]),
            false => Err(Error::dtype(format!("expected a list, found {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![Tensor::scalar(inputs[0].list()?.len() as i64).into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Len)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListLen::NAME, ListLen::build, || {
    let a = f64s(&[1.0, 2.0], &[2]);
    vec![
        Sample::of_values(ListLen {}, [list(&[&a, &a, &a])]).gives([i64s(&[3], &[])]),
        Sample::new(ListLen {}, [a]).refused("expected a list"),
    ]
});
