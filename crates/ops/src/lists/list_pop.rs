//! `list_pop`: a list without its top, and the top.

use super::{list_push, samples::list};
use crate::prelude::*;

/// The list without its top, and the top. An empty list is an error.
#[track_caller]
pub fn list_pop(list: &Var) -> Result<(Var, Var)> {
    let mut outputs = bind(ListPop {}, &[list])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(top), Some(rest)) => Ok((rest, top)),
        _ => Err(Error::internal("`list_pop` has two outputs")),
    }
}

attributes! {
    /// The op behind [`list_pop`].
    pub struct ListPop = "list_pop" {}
}

impl Op for ListPop {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0].element() {
            Some(element) => Ok(smallvec![*inputs[0], element]),
            None => Err(Error::dtype(format!("expected a list, found {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let Some((rest, top)) = inputs[0].list()?.pop() else {
            return Err(Error::index("the list is empty"));
        };
        Ok(smallvec![rest.into(), top])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        bind(self.clone(), &[batch.given(0)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let or_zero = |i: usize| match &p.dys()[i] {
                Some(cotangent) => Ok(cotangent.clone()),
                None => zeros_like(&p.y(i)),
            };
            grads![p => list_push(&or_zero(0)?, &or_zero(1)?)]
        })
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Pop)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListPop::NAME, ListPop::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    let empty = List::new(a.ty()).expect("a list of tensors");
    vec![
        Sample::of_values(ListPop {}, [list(&[&a, &b])]).gives_values([list(&[&a]), b.into()]),
        Sample::of_values(ListPop {}, [empty.into()]).refused("the list is empty"),
        Sample::new(ListPop {}, [a]).refused("expected a list"),
    ]
});
