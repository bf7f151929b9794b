//! `list_push`: a list with one more element on top.

use super::{list_pop, samples::list};
use crate::assume_dims;
use crate::prelude::*;

/// The list with `x` on top.
#[track_caller]
pub fn list_push(list: &Var, x: &Var) -> Result<Var> {
    bind1(ListPush {}, &[list, x])
}

attributes! {
    /// The op behind [`list_push`].
    pub struct ListPush = "list_push" {}
}

impl Op for ListPush {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let Some(element) = inputs[0].element() else {
            return Err(Error::dtype(format!("expected a list, found {}", inputs[0])));
        };
        if !fits(&element, inputs[1]) {
            return Err(Error::dtype(format!("a {} does not take a {}", inputs[0], inputs[1])));
        }
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].list()?.push(inputs[1].clone()).into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        bind(self.clone(), &[batch.given(0), &batch.full(1)?]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::TYPES, |p| {
            let (rest, top) = list_pop(&p.dy())?;
            Ok(smallvec![Some(rest), Some(as_given(top, &p.in_type(1)?)?)])
        })
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Push)))
    }
}

/// An element of a list, with the sizes that it had when it was put there.
pub(super) fn as_given(element: Var, given: &Type) -> Result<Var> {
    match element.ty().dims() == given.dims() || given.is_list() {
        true => Ok(element),
        false => assume_dims(&element, given.dims()),
    }
}

/// Whether an element of this type goes into a list of such: symbols stand for any size.
pub(super) fn fits(element: &Type, found: &Type) -> bool {
    let same = |(a, b): (&Dim, &Dim)| a == b || a.is_symbolic() || b.is_symbolic();
    element.dtype() == found.dtype()
        && element.lists() == found.lists()
        && element.rank() == found.rank()
        && (element.is_list() || element.dims().iter().zip(found.dims()).all(same))
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListPush::NAME, ListPush::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    vec![
        Sample::of_values(ListPush {}, [list(&[&a]), b.clone().into()])
            .gives_values([list(&[&a, &b])]),
        Sample::of_values(ListPush {}, [list(&[&a]), f64s(&[1.0], &[]).into()])
            .refused("does not take"),
        Sample::new(ListPush {}, [a, b]).refused("expected a list"),
    ]
});
