//! `checkpoint`: a block whose values are computed again for its gradient.

use std::sync::Arc;

use crate::prelude::*;

/// Applies a block without parameters that is traced already, as one op: its gradient keeps what the block takes, and computes
/// the rest again. Random numbers are those of the first time, since their stream is an operand.
#[track_caller]
pub fn checkpoint_of(traced: Traced) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let _recording = enable_grad();
    let closed = close(vec![traced], Runs::One)?;
    let Some(block) = closed.blocks.into_iter().next() else {
        return Err(Error::internal("a checkpoint has a block"));
    };
    if block.has_effect() {
        return Err(Error::argument(
            "a checkpointed function has an effect, which its gradient would repeat",
        )
        .remedy("print, save and assert outside of it")
        .at(loc));
    }
    let inputs: Vec<&Var> = closed.entries.iter().chain(&closed.captures).collect();
    let n_results = block.results.len() - closed.states.len();
    let mut outputs = bind_at(Checkpoint { block }.into(), &inputs, loc)?.into_vec();
    let assigned = outputs.split_off(n_results);
    let _line = at(loc);
    for (name, value) in closed.states.iter().zip(&assigned) {
        assign_state(name, value)?;
    }
    Ok(outputs)
}

attributes! {
    /// The op behind [`checkpoint_of`]. It takes the operands of its block and gives its results.
    pub struct Checkpoint = "checkpoint" {
        /// The block.
        pub block: Arc<Block>,
    }
}

impl Op for Checkpoint {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.block.n_params)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(super::cond::result_types(&self.block, inputs)?.into_iter().collect())
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        self.eval_blocks(inputs, outs, &mut CallByCall(self.blocks()))
    }

    fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
        smallvec![&self.block]
    }

    fn eval_blocks(
        &self,
        inputs: &[&Value],
        _: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        Ok(blocks.run(0, inputs)?.into())
    }

    fn reaches(&self, outputs: &[bool]) -> Option<Vec<bool>> {
        let results: Vec<usize> = (0..outputs.len()).filter(|&i| outputs[i]).collect();
        Some(self.block.influences(&results))
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        self.block.influences(&[output]).get(input) == Some(&true)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let block = &p.op::<Checkpoint>()?.block;
            let n = p.n_inputs();
            let given: Vec<usize> = (0..p.dys().len()).filter(|&i| p.dys()[i].is_some()).collect();
            let wanted: Vec<usize> = (0..n).filter(|&i| p.wanted(i)).collect();
            let mut operands: Vec<Var> = (0..n).map(|i| p.x(i)).collect();
            operands.extend(given.iter().filter_map(|&i| p.dys()[i].clone()));
            let types: Vec<Type> = operands.iter().map(Var::ty).collect();
            let mut found: Vec<bool> = Vec::new();
            let reverse = free_block(&types, |params| {
                let (own, seeds) = params.split_at(n);
                let results = block.apply(&own.iter().collect::<Vec<_>>())?;
                let outputs: Vec<&Var> = given.iter().map(|&i| &results[i]).collect();
                let wrt: Vec<&Var> = wanted.iter().map(|&i| &own[i]).collect();
                let seeds: Vec<Option<&Var>> = seeds.iter().map(Some).collect();
                let options = GradOptions { create_graph: true, retain_graph: true };
                let cotangents = vjp(&outputs, &seeds, &wrt, options)?;
                found = cotangents.iter().map(Option::is_some).collect();
                Ok(cotangents.into_iter().flatten().collect())
            })?;
            let mut all = Cotangents::from_elem(None, n);
            if found.contains(&true) {
                let op = Checkpoint { block: reverse };
                let mut outputs = bind(op, &operands.iter().collect::<Vec<_>>())?.into_iter();
                for (&i, found) in wanted.iter().zip(found) {
                    all[i] = if found { outputs.next() } else { None };
                }
            }
            Ok(all)
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Checkpoint::NAME, Checkpoint::build, Vec::new);
