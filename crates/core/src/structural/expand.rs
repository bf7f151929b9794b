//! `expand`: broadcasting made explicit.

use fluvial_tensor::{Dim, Error, Result, Type, broadcast};
use smallvec::smallvec;

use super::arithmetic::f64s;
use crate::batch::Batch;
use crate::bind::{Outputs, bind1};
use crate::block::ValueId;
use crate::family::known_sizes;
use crate::grad::{Grad, Keeps};
use crate::kernel::{Kernel, View};
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::rewrite::{NewValues, Rewrite};
use crate::sample::Sample;
use crate::value::Value;
use crate::var::Var;
use crate::{attributes, grads};

/// The value repeated along new dims and along dims of size one, without a copy.
#[track_caller]
pub fn expand(x: &Var, dims: &[Dim]) -> Result<Var> {
    bind1(Expand { dims: dims.to_vec() }, &[x])
}

attributes! {
    /// The op behind [`expand`].
    pub struct Expand = "expand" {
        /// The dims of the result.
        pub dims: Vec<Dim>,
    }
}

impl Op for Expand {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list cannot be expanded"));
        }
        let wanted = inputs[0].with_dims(&self.dims)?;
        let dims = broadcast(inputs[0].dims(), &self.dims)?;
        match dims[..] == self.dims[..] {
            true => Ok(smallvec![wanted]),
            false => Err(Error::shape(format!("{} does not expand to {wanted}", inputs[0]))
                .remedy("only dims of size one grow")),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].tensor()?.expand(&known_sizes(&outs[0])?)?.into()])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let same = on.ty(inputs[0]).dims() == self.dims;
        Ok(same.then(|| smallvec![inputs[0]]))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let x = batch.aligned(0, self.dims.len())?;
        bind1(Expand { dims: batch.dims(&self.dims).to_vec() }, &[&x]).map(|y| Some(smallvec![y]))
    }

    fn grad(&self) -> Grad {
        // The reverse walk sums the cotangent to the input's shape.
        Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy()])
    }

    fn properties(&self) -> Properties {
        Properties { broadcasts: true, ..Properties::VIEW }
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let extra = outs[0].rank() - inputs[0].rank();
        let mut view = View::whole(inputs[0].rank());
        for (axis, walk) in view.axes.iter_mut().enumerate() {
            if inputs[0].dim(axis) != outs[0].dim(axis + extra) {
                walk.clear();
            }
        }
        (0..extra).for_each(|_| view.axes.insert(0, smallvec![]));
        Ok(Some(Kernel::View(view)))
    }
}

pub(super) const DEF: OpDef = OpDef::new(Expand::NAME, Expand::build, || {
    let sizes = |sizes: &[usize]| sizes.iter().map(|&n| Dim::size(n)).collect::<Vec<_>>();
    let column = f64s(&[1.0, 2.0], &[2, 1]);
    vec![
        Sample::new(Expand { dims: sizes(&[2, 3]) }, [column.clone()])
            .gives([f64s(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], &[2, 3])]),
        Sample::new(Expand { dims: sizes(&[2, 2, 1]) }, [column.clone()])
            .gives([f64s(&[1.0, 2.0, 1.0, 2.0], &[2, 2, 1])]),
        Sample::new(Expand { dims: sizes(&[0, 2, 1]) }, [column.clone()])
            .gives([f64s(&[], &[0, 2, 1])]),
        Sample::new(Expand { dims: sizes(&[3, 1]) }, [column]).refused("do not broadcast"),
        Sample::new(Expand { dims: sizes(&[1]) }, [f64s(&[1.0, 2.0], &[2])])
            .refused("does not expand"),
    ]
});
