//! `sum_to`: the transpose of broadcasting.

use fluvial_kernels as kernels;
use fluvial_tensor::{Dim, Error, Result, Type, broadcast};
use smallvec::{SmallVec, smallvec};

use super::arithmetic::f64s;
use crate::batch::Batch;
use crate::bind::{Outputs, bind1};
use crate::block::ValueId;
use crate::family::known_sizes;
use crate::grad::{Grad, Keeps};
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::rewrite::{NewValues, Rewrite};
use crate::sample::Sample;
use crate::structural::expand;
use crate::value::Value;
use crate::var::Var;
use crate::{attributes, grads};

/// The sum over the dims along which a value of these dims would be broadcast to `x`.
#[track_caller]
pub fn sum_to(x: &Var, dims: &[Dim]) -> Result<Var> {
    bind1(SumTo { dims: dims.to_vec() }, &[x])
}

attributes! {
    /// The op behind [`sum_to`].
    pub struct SumTo = "sum_to" {
        /// The dims of the result.
        pub dims: Vec<Dim>,
    }
}

impl Op for SumTo {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dims = broadcast(&self.dims, inputs[0].dims())?;
        if inputs[0].is_list() || inputs[0].dtype().is_bool() {
            return Err(Error::dtype("only numbers can be summed").remedy("cast first"));
        }
        match &dims[..] == inputs[0].dims() {
            true => Ok(smallvec![inputs[0].with_dims(&self.dims)?]),
            false => Err(Error::shape(format!(
                "a value of dims {:?} is not broadcast to {}",
                self.dims, inputs[0]
            ))),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::sum_to(inputs[0].tensor()?, &known_sizes(&outs[0])?)?.into()])
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let same = on.ty(inputs[0]).dims() == self.dims;
        Ok(same.then(|| smallvec![inputs[0]]))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        // The dims that are summed away stay as ones until the batch is told apart.
        let x = batch.given(0);
        let missing = batch.rank(0) - self.dims.len();
        let mut dims = vec![batch.size()];
        dims.resize(1 + missing, Dim::size(1));
        dims.extend(&self.dims);
        let y = bind1(SumTo { dims }, &[x])?;
        Ok(Some(smallvec![batch.shaped(&y, &self.dims)?]))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => expand(&p.dy(), p.in_type(0)?.dims())])
    }

    fn reduces(&self, input: &Type) -> Option<(kernels::Reduce, SmallVec<[usize; 8]>)> {
        let extra = input.rank().checked_sub(self.dims.len())?;
        let is_summed = |&axis: &usize| axis < extra || self.dims[axis - extra] != input.dim(axis);
        Some((kernels::Reduce::Sum, (0..input.rank()).filter(is_summed).collect()))
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }
}

pub(super) const DEF: OpDef = OpDef::new(SumTo::NAME, SumTo::build, || {
    let sizes = |sizes: &[usize]| sizes.iter().map(|&n| Dim::size(n)).collect::<Vec<_>>();
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(SumTo { dims: sizes(&[3]) }, [x.clone()]).gives([f64s(&[5.0, 7.0, 9.0], &[3])]),
        Sample::new(SumTo { dims: sizes(&[2, 1]) }, [x.clone()])
            .gives([f64s(&[6.0, 15.0], &[2, 1])]),
        Sample::new(SumTo { dims: sizes(&[]) }, [x.clone()]).gives([f64s(&[21.0], &[])]),
        Sample::new(SumTo { dims: sizes(&[2, 3]) }, [x.clone()]).gives([x.clone()]),
        Sample::new(SumTo { dims: sizes(&[2]) }, [x.clone()]).refused("do not broadcast"),
        Sample::new(SumTo { dims: sizes(&[4, 2, 3]) }, [x]).refused("is not broadcast"),
    ]
});
