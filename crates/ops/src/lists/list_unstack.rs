//! `list_unstack`: a tensor as a list.

use super::{list_stack, samples::list};
use crate::batch::batch_of;
use crate::prelude::*;
use crate::shape::movedim;

/// The slices of a tensor along its first axis as a list, the first slice at the bottom, or on
/// top. No copy.
#[track_caller]
pub fn list_unstack(x: &Var, from_bottom: bool) -> Result<Var> {
    bind1(ListUnstack { from_bottom }, &[x])
}

attributes! {
    /// The op behind [`list_unstack`].
    pub struct ListUnstack = "list_unstack" {
        /// Whether the first slice lies at the bottom.
        pub from_bottom: bool,
    }
}

impl Op for ListUnstack {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() || inputs[0].rank() == 0 {
            return Err(Error::shape(format!("expected at least one axis, found {}", inputs[0])));
        }
        Ok(smallvec![inputs[0].with_dims(&inputs[0].dims()[1..])?.list_of()?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let element = outs[0].element().unwrap_or(x.ty());
        let slices = (0..x.dims()[0]).map(|i| x.index(0, i).map(Value::Tensor));
        let mut slices = slices.collect::<Result<Vec<_>>>()?;
        if !self.from_bottom {
            slices.reverse();
        }
        let list = List::from_bottom(element, slices)?;
        Ok(smallvec![list.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch_of(bind1(self.clone(), &[&movedim(batch.given(0), &[0], &[1])?])?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let from_bottom = p.op::<ListUnstack>()?.from_bottom;
            grads![p => list_stack(&p.dy(), p.in_type(0)?.dim(0), from_bottom)]
        })
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Unstack(self.from_bottom))))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListUnstack::NAME, ListUnstack::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    vec![
        Sample::new(ListUnstack { from_bottom: false }, [f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2])])
            .gives_values([list(&[&b, &a])]),
        Sample::new(ListUnstack { from_bottom: true }, [f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2])])
            .gives_values([list(&[&a, &b])]),
        Sample::new(ListUnstack { from_bottom: true }, [f64s(&[1.0], &[])])
            .refused("at least one axis"),
    ]
});
