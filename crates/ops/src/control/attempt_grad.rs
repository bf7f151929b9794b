//! `attempt_grad`: the gradient of an attempt. Which calls of it ran only the run knows, so it runs them again.

use std::sync::Arc;

use super::attempt::Attempt;
use crate::host::Assert;
use crate::prelude::*;

/// Where a block has an effect that must not happen twice; a check of what held may.
pub(super) fn repeats(block: &Block) -> Option<Loc> {
    block.calls.iter().find_map(|call| {
        let inside = call.op.blocks();
        match inside.is_empty() {
            true => {
                let is_effect = call.op.properties().effect;
                (is_effect && call.op.downcast::<Assert>().is_none()).then_some(call.loc)
            }
            false => inside.iter().find_map(|block| repeats(block)),
        }
    })
}

attributes! {
    /// The gradient of [`Attempt`].
    ///
    /// Inputs: those of the attempt, then the cotangents of the results in `given`. Outputs: the cotangents of the
    /// inputs in `wanted`.
    pub struct AttemptGrad = "attempt_grad" {
        /// The blocks of the attempt.
        pub blocks: Vec<Arc<Block>>,
        /// What its notes are called.
        pub key: Arc<str>,
        /// The faults that it catches.
        pub caught: Vec<i64>,
        /// The inputs whose cotangents are wanted.
        pub wanted: Vec<usize>,
        /// The outputs that have a cotangent.
        pub given: Vec<usize>,
    }
}

impl AttemptGrad {
    /// The cotangents of the inputs of an attempt.
    pub(super) fn bind(op: &Attempt, p: &Pull<'_>, wanted: &[bool]) -> Result<Cotangents> {
        let n_inputs = p.n_inputs();
        let given: Vec<usize> = (0..p.dys().len()).filter(|&i| p.dys()[i].is_some()).collect();
        let places: Vec<usize> = (0..n_inputs).filter(|&i| wanted[i]).collect();
        let own = (0..n_inputs).map(|i| p.x(i));
        let inputs: Vec<Var> = own.chain(p.dys().iter().flatten().cloned()).collect();
        let op = AttemptGrad {
            blocks: op.blocks.clone(),
            key: op.key.clone(),
            caught: op.caught.clone(),
            wanted: places.clone(),
            given,
        };
        let found = bind(op, &inputs.iter().collect::<Vec<_>>())?;
        let mut cotangents = Cotangents::from_elem(None, n_inputs);
        for (i, cotangent) in places.into_iter().zip(found) {
            cotangents[i] = Some(cotangent);
        }
        Ok(cotangents)
    }

    fn attempt(&self) -> Attempt {
        Attempt { blocks: self.blocks.clone(), key: self.key.clone(), caught: self.caught.clone() }
    }

    fn n_inputs(&self) -> usize {
        self.blocks.first().map_or(0, |block| block.n_params)
    }
}

impl Op for AttemptGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.n_inputs() + self.given.len())
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let n_inputs = self.n_inputs();
        let outs = self.attempt().infer(&inputs[..n_inputs])?;
        let fits = |(&output, ty): (&usize, &&Type)| outs.get(output) == Some(*ty);
        if !self.given.iter().zip(&inputs[n_inputs..]).all(fits) {
            return Err(Error::program("the cotangents do not fit the results of the attempt"));
        }
        let wanted = self.wanted.iter().map(|&i| inputs[..n_inputs].get(i).map(|&ty| *ty));
        wanted.map(|ty| ty.ok_or_else(|| Error::program("the attempt has no such input"))).collect()
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let vars: Vec<Var> = inputs.iter().map(|&value| Var::new(value.clone())).collect();
        let (own, cotangents) = vars.split_at(self.n_inputs());
        let mut dys: Vec<Option<Var>> = Vec::new();
        for (&i, dy) in self.given.iter().zip(cotangents) {
            dys.resize(dys.len().max(i + 1), None);
            dys[i] = Some(dy.clone());
        }
        let wanted: Vec<bool> = (0..own.len()).map(|i| self.wanted.contains(&i)).collect();
        let attempt = self.attempt();
        let run = |own: &[Var]| attempt.apply(&own.iter().collect::<Vec<_>>());
        let mut found = vjp_through(run, own, &wanted, &dys)?;
        let taken = self.wanted.iter().zip(outs).map(|(&i, ty)| match found[i].take() {
            Some(cotangent) => cotangent.take_value(),
            None => zeros_of(ty),
        });
        taken.collect()
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("second derivatives through a `try` are computed line by line only")
    }
}

fn zeros_of(ty: &Type) -> Result<Value> {
    match ty.is_list() {
        true => Err(Error::gradient("a list of an attempt has no cotangent")),
        false => Ok(Tensor::zeros(ty.dtype(), &known_sizes(ty)?)?.into()),
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AttemptGrad::NAME, AttemptGrad::build, Vec::new);
