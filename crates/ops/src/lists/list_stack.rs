//! `list_stack`: a list as one tensor.

use super::{list_unstack, samples::list};
use crate::batch::batch_of;
use crate::prelude::*;
use crate::shape::movedim;

/// The elements of a list along a new first axis, from the bottom of the list up, or from the top
/// down. `len` is the number of elements, which may be a symbol.
#[track_caller]
pub fn list_stack(list: &Var, len: Dim, from_bottom: bool) -> Result<Var> {
    bind1(ListStack { len, from_bottom }, &[list])
}

attributes! {
    /// The op behind [`list_stack`].
    pub struct ListStack = "list_stack" {
        /// The number of elements.
        pub len: Dim,
        /// Whether the bottom of the list comes first.
        pub from_bottom: bool,
    }
}

impl Op for ListStack {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let Some(element) = inputs[0].element().filter(|element| !element.is_list()) else {
            return Err(Error::dtype(format!("expected a list of tensors, found {}", inputs[0])));
        };
        let mut dims = vec![self.len];
        dims.extend(element.dims());
        Ok(smallvec![element.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let list = inputs[0].list()?;
        if self.len != Dim::size(list.len()) {
            return Err(Error::shape(format!(
                "the list has {} elements, not {}",
                list.len(),
                self.len
            )));
        }
        if list.is_empty() {
            return Ok(smallvec![Tensor::empty(outs[0].dtype(), &known_sizes(&outs[0])?)?.into()]);
        }
        let mut tensors = list.iter().map(Value::tensor).collect::<Result<Vec<_>>>()?;
        if self.from_bottom {
            tensors.reverse();
        }
        Ok(smallvec![kernels::stack(&tensors, 0)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Shape))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let stacked = bind1(self.clone(), &[batch.given(0)])?;
        batch_of(movedim(&stacked, &[1], &[0])?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(
            Keeps::NOTHING,
            |p| grads![p => list_unstack(&p.dy(), p.op::<ListStack>()?.from_bottom)],
        )
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Stack(self.len, self.from_bottom))))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListStack::NAME, ListStack::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    let empty = List::new(a.ty()).expect("a list of tensors");
    let op = |len, from_bottom| ListStack { len: Dim::size(len), from_bottom };
    vec![
        Sample::of_values(op(2, false), [list(&[&a, &b])])
            .gives([f64s(&[3.0, 4.0, 1.0, 2.0], &[2, 2])]),
        Sample::of_values(op(2, true), [list(&[&a, &b])])
            .gives([f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2])]),
        Sample::of_values(op(0, false), [empty.into()]).gives([f64s(&[], &[0, 2])]),
        Sample::of_values(op(3, true), [list(&[&a, &b])]).refused("has 2 elements, not 3"),
        Sample::new(op(2, true), [a]).refused("expected a list of tensors"),
    ]
});
