//! `attempt_grad`: the gradient of an attempt. Which calls of it ran only the run knows, so it runs them again.

use std::sync::Arc;

use super::attempt::Attempt;
use super::cond::cond_of;
use super::raise_again::RaiseAgain;
use crate::host::Assert;
use crate::prelude::*;

impl Attempt {
    /// Where a block has an effect that must not happen twice, if it has one; a check of what held may, and so may an error.
    pub fn repeats(block: &Block) -> Option<Loc> {
        block.calls.iter().find_map(|call| {
            let inside = call.op.blocks();
            match inside.is_empty() {
                true => {
                    let is_effect = call.op.properties().effect;
                    let is_check = call.op.downcast::<Assert>().is_some()
                        || call.op.downcast::<RaiseAgain>().is_some();
                    (is_effect && !is_check).then_some(call.loc)
                }
                false => inside.iter().find_map(|block| Attempt::repeats(block)),
            }
        })
    }
}

attributes! {
    /// The gradient of [`Attempt`].
    ///
    /// Inputs: those of the attempt, the cotangents of the results in `given`, then the sums so far of the inputs in
    /// `summed`. Outputs: the totals of the inputs in `wanted`, and, with `flags`, whether there is anything in each.
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
        /// The inputs to whose sums it adds.
        pub summed: Vec<usize>,
        /// Whether it says what there is.
        pub flags: bool,
    }
}

impl AttemptGrad {
    /// The totals of the inputs of an attempt.
    pub(super) fn bind(
        op: &Attempt,
        p: &Pull<'_>,
        sums: &[Option<Sum>],
    ) -> Result<Vec<Option<Sum>>> {
        let n_inputs = p.n_inputs();
        let given: Vec<usize> = (0..p.dys().len()).filter(|&i| p.dys()[i].is_some()).collect();
        let wanted: Vec<usize> = (0..n_inputs).filter(|&i| p.wanted(i)).collect();
        // Of a sum that may be empty, the run knows whether it is.
        let is_certain = |sum: &Sum| sum.present.is_none();
        let summed = wanted.iter().copied().filter(|&i| sums[i].as_ref().is_some_and(is_certain));
        let summed: Vec<usize> = summed.collect();
        let mut inputs: Vec<Var> = (0..n_inputs).map(|i| p.x(i)).collect();
        inputs.extend(p.dys().iter().flatten().cloned());
        inputs.extend(summed.iter().filter_map(|&i| Some(sums[i].as_ref()?.var.clone())));
        let op = AttemptGrad {
            blocks: op.blocks.clone(),
            key: op.key.clone(),
            caught: op.caught.clone(),
            wanted: wanted.clone(),
            given,
            summed: summed.clone(),
            flags: true,
        };
        let mut found = bind(op, &inputs.iter().collect::<Vec<_>>())?.into_vec();
        let flags = found.split_off(wanted.len());
        let mut totals = vec![None; n_inputs];
        for ((i, var), flag) in wanted.into_iter().zip(found).zip(flags) {
            if summed.contains(&i) {
                totals[i] = Some(Sum::certain(var));
                continue;
            }
            let present = match flag.is_symbolic() {
                true => Some(Present { flag, choose: cond_of }),
                false if flag.item::<bool>()? => None,
                false => continue,
            };
            let own = Sum { var, present };
            totals[i] = Some(match &sums[i] {
                Some(sum) => sum.clone().plus(own)?,
                None => own,
            });
        }
        Ok(totals)
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
        Arity::Exactly(self.n_inputs() + self.given.len() + self.summed.len())
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (own, rest) = inputs.split_at(self.n_inputs());
        let (cotangents, sums) = rest.split_at(self.given.len());
        let outs = self.attempt().infer(own)?;
        let fits = |(&output, ty): (&usize, &&Type)| outs.get(output) == Some(*ty);
        let is_own = |(&input, ty): (&usize, &&Type)| own.get(input) == Some(ty);
        if !self.given.iter().zip(cotangents).all(fits) || !self.summed.iter().zip(sums).all(is_own)
        {
            return Err(Error::program("the cotangents do not fit the results of the attempt"));
        }
        let no_input = || Error::program("the attempt has no such input");
        let wanted = self.wanted.iter().map(|&i| own.get(i).map(|&ty| *ty).ok_or_else(no_input));
        let n_flags = if self.flags { self.wanted.len() } else { 0 };
        wanted.chain(std::iter::repeat_n(Ok(Type::scalar(DType::Bool)), n_flags)).collect()
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let vars: Vec<Var> = inputs.iter().map(|&value| Var::new(value.clone())).collect();
        let (own, rest) = vars.split_at(self.n_inputs());
        let (cotangents, sums) = rest.split_at(self.given.len());
        let attempt = self.attempt();
        let n_outputs = 1 + self.blocks.first().map_or(0, |block| block.results.len());
        let mut dys: Vec<Option<Var>> = vec![None; n_outputs];
        for (&i, dy) in self.given.iter().zip(cotangents) {
            dys[i] = Some(dy.clone());
        }
        // An input with a sum is a result, too, whose cotangent is the sum.
        dys.extend(sums.iter().cloned().map(Some));
        let run = |own: &[Var]| {
            let mut results = attempt.apply(&own.iter().collect::<Vec<_>>())?;
            results.extend(self.summed.iter().map(|&i| own[i].clone()));
            Ok(results)
        };
        let wanted: Vec<bool> = (0..own.len()).map(|i| self.wanted.contains(&i)).collect();
        let mut found = vjp_through(run, own, &wanted, &dys)?;
        let mut totals = Values::new();
        let mut flags = Values::new();
        for (&i, ty) in self.wanted.iter().zip(outs) {
            flags.push(Tensor::scalar(found[i].is_some()).into());
            totals.push(match found[i].take() {
                Some(cotangent) => cotangent.take_value()?,
                None => nothing_of(ty, self.flags)?,
            });
        }
        totals.extend(flags.into_iter().filter(|_| self.flags));
        Ok(totals)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("second derivatives through a `try` are computed line by line only")
    }
}

/// What stands for a cotangent that is not there: minus zero where a flag says so, which changes nothing.
fn nothing_of(ty: &Type, is_flagged: bool) -> Result<Value> {
    if ty.is_list() {
        return Err(Error::gradient("a list of an attempt has no cotangent"));
    }
    let zeros: Value = Tensor::zeros(ty.dtype(), &known_sizes(ty)?)?.into();
    match is_flagged {
        true => nothing(&Var::new(zeros))?.take_value(),
        false => Ok(zeros),
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AttemptGrad::NAME, AttemptGrad::build, Vec::new);
