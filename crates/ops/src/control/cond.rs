//! `cond`: one of two branches.

use std::sync::Arc;

use super::cond_grad::{reverse_branch, with_reverse};
use super::while_loop::is_condition;
use crate::lists::{list_new, list_push};
use crate::prelude::*;

/// Runs `then` if `pred` holds, else `otherwise`, and returns what it returns.
///
/// In imperative mode, and for a condition known while building, the branch is simply called. In a
/// program the choice is one op that owns both branches: what they use from outside becomes an
/// operand, and state that either assigns is assigned once, afterwards.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::scalar(-3.0f64);
/// let negative = lt(&x, &Var::scalar(0.0))?;
/// let y = cond(&negative, || Ok(vec![-&x]), || Ok(vec![x.clone()]))?;
/// assert_eq!(y[0].item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cond(
    pred: &Var,
    then: impl FnOnce() -> Result<Vec<Var>>,
    otherwise: impl FnOnce() -> Result<Vec<Var>>,
) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let pred = pred.clone().check()?;
    is_condition(&pred.ty()).map_err(|error| error.in_op(Cond::NAME, &[&pred.ty()]).at(loc))?;
    if !pred.is_symbolic() {
        let results = if pred.item()? { then()? } else { otherwise()? };
        return results.into_iter().map(Var::check).collect();
    }
    let then = trace_block_at(loc, &[], |_| then())?;
    let otherwise = trace_block_at(loc, &[], |_| otherwise())?;
    let _line = at(loc);
    cond_of(&pred, then, otherwise)
}

/// [`cond`] of branches without parameters that are traced already: for front ends that open and
/// close blocks themselves.
#[track_caller]
pub fn cond_of(pred: &Var, then: Traced, otherwise: Traced) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    // Its blocks say what of it has a history.
    let _recording = enable_grad();
    let pred = pred.clone().check()?;
    let closed = close(vec![then, otherwise], Runs::One)?;
    let mut blocks = closed.blocks.into_iter();
    let (Some(then), Some(otherwise)) = (blocks.next(), blocks.next()) else {
        return Err(Error::internal("a condition has two branches"));
    };
    let mut inputs = vec![&pred];
    inputs.extend(closed.entries.iter().chain(&closed.captures));
    let n_results = then.results.len();
    let op = Cond {
        branches: vec![then, otherwise],
        n_results,
        reverses: vec![],
        wanted: vec![],
        given: vec![],
        found: vec![],
        of_run: vec![],
        residuals: vec![],
        lists: vec![],
    };
    let mut outputs = bind_at(op.into(), &inputs, loc)?.into_vec();
    let assigned = outputs.split_off(n_results - closed.states.len());
    let _line = at(loc);
    for (name, value) in closed.states.iter().zip(&assigned) {
        assign_state(name, value)?;
    }
    Ok(outputs)
}

attributes! {
    /// The op behind [`cond`].
    ///
    /// Inputs: the condition, then the operands of both branches. Outputs: the results; and, once
    /// a gradient was asked for, lists of what the branches stack for it. The lists of the branch
    /// that ran hold one element, the others none.
    pub struct Cond = "cond" {
        /// The branch for true and the branch for false.
        pub branches: Vec<Arc<Block>>,
        /// How many results the branches share; what a branch returns behind them is stacked.
        pub n_results: usize,
        /// The gradients of the branches, once asked for: from cotangents of the results in
        /// `given`, the sums of the operands in `wanted` so far, whether there is anything in them,
        /// then residuals; to totals of the operands in `found`, then whether those in `of_run` are there.
        pub reverses: Vec<Arc<Block>>,
        /// The operands whose cotangents are wanted.
        pub wanted: Vec<usize>,
        /// By branch: the results whose cotangents its reverse block takes.
        pub given: Vec<Vec<usize>>,
        /// By branch: the operands of which its reverse block gives totals.
        pub found: Vec<Vec<usize>>,
        /// By branch: those of them of which only a run knows if anything was added.
        pub of_run: Vec<Vec<usize>>,
        /// By branch: where the residuals come from: operand `i`, or the list of result `-1 - i`.
        pub residuals: Vec<Vec<i64>>,
        /// The lists among the outputs: branch and result of each.
        pub lists: Vec<Vec<usize>>,
    }
}

impl Cond {
    /// The position among the outputs of a result of a branch, or of its list.
    pub(super) fn output(&self, branch: usize, result: usize) -> Result<usize> {
        if result < self.n_results {
            return Ok(result);
        }
        let list = self.lists.iter().position(|list| list[..] == [branch, result]);
        list.map(|i| self.n_results + i)
            .ok_or_else(|| Error::internal("a stacked result has no list"))
    }
}

impl Op for Cond {
    fn arity(&self) -> Arity {
        Arity::Exactly(1 + self.branches.first().map_or(0, |block| block.n_params))
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let [then, otherwise] = &self.branches[..] else {
            return Err(Error::program("a condition has two branches"));
        };
        if then.n_params != otherwise.n_params {
            return Err(Error::program("the branches take different operands"));
        }
        self.check_reverses()?;
        is_condition(inputs[0])?;
        let of_then = result_types(then, &inputs[1..])?;
        let of_otherwise = result_types(otherwise, &inputs[1..])?;
        if of_then.len() < self.n_results || of_otherwise.len() < self.n_results {
            return Err(Error::argument("the branches return different numbers of values")
                .remedy("return the same number of values from both branches"));
        }
        for i in 0..self.n_results {
            if of_then[i] != of_otherwise[i] {
                return Err(Error::shape(format!(
                    "value {i} is {} in one branch and {} in the other",
                    of_then[i], of_otherwise[i]
                ))
                .remedy("both branches must return the same types"));
            }
        }
        let mut outs: Types = of_then[..self.n_results].iter().copied().collect();
        for list in &self.lists {
            let of_branch = match list[..] {
                [0, result] => of_then.get(result),
                [1, result] => of_otherwise.get(result),
                _ => None,
            };
            let Some(ty) = of_branch else {
                return Err(Error::program(format!("no branch returns the list {list:?}")));
            };
            outs.push(ty.list_of()?);
        }
        Ok(outs)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        self.eval_blocks(inputs, outs, &mut CallByCall(self.blocks()))
    }

    fn blocks(&self) -> SmallVec<[&Arc<Block>; 2]> {
        self.branches.iter().collect()
    }

    fn eval_blocks(
        &self,
        inputs: &[&Value],
        outs: &[Type],
        blocks: &mut dyn Blocks,
    ) -> Result<Values> {
        let branch = if inputs[0].tensor()?.item::<bool>()? { 0 } else { 1 };
        let results = blocks.run(branch, &inputs[1..])?;
        let mut outputs: Values = results.iter().take(self.n_results).cloned().collect();
        for (list, ty) in self.lists.iter().zip(&outs[self.n_results..]) {
            let empty = List::new(ty.element().unwrap_or(*ty))?;
            let full = results.get(list[1]).filter(|_| list[0] == branch);
            outputs.push(full.map_or(empty.clone(), |value| empty.push(value.clone())).into());
        }
        Ok(outputs)
    }

    fn grad(&self) -> Grad {
        Grad::Totals(Keeps::ALL, reverse_branch)
    }

    fn properties(&self) -> Properties {
        let effect = self.branches.iter().any(|block| block.has_effect());
        Properties { effect, residuals: true, ..Properties::PURE }
    }

    fn with_residuals(&self, wanted: &[bool], given: &[bool]) -> Result<Option<OpRef>> {
        with_reverse(self, wanted, given)
    }

    fn reaches(&self, outputs: &[bool]) -> Option<Vec<bool>> {
        let mut inputs = vec![false; 1 + self.branches.first()?.n_params];
        for (branch, block) in self.branches.iter().enumerate() {
            let is_reached = |result: &usize| {
                self.output(branch, *result).is_ok_and(|i| outputs.get(i) == Some(&true))
            };
            let results: Vec<usize> = (0..block.results.len()).filter(is_reached).collect();
            for (input, reached) in inputs[1..].iter_mut().zip(block.influences(&results)) {
                *input |= reached;
            }
        }
        Some(inputs)
    }

    fn surely_tracked(&self, inputs: &[bool]) -> Vec<bool> {
        let of_branch: Vec<Vec<bool>> =
            self.branches.iter().map(|block| block.surely(&inputs[1..])).collect();
        (0..self.n_results).map(|i| of_branch.iter().all(|results| results[i])).collect()
    }

    fn unroll(&self, inputs: &[&Var]) -> Result<Option<Outputs>> {
        let types: Vec<Type> = inputs.iter().map(|var| var.ty()).collect();
        let outs = self.infer(&types.iter().collect::<Vec<_>>())?;
        self.run(inputs, &outs).map(|outputs| Some(outputs.into()))
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let lists = self.lists.iter().map(|list| (list[0], list[1])).collect();
        Ok(Some(Kernel::Cond { n_results: self.n_results, lists }))
    }
}

impl Cond {
    /// Refuses reverse blocks, read from a file, that do not fit the branches.
    fn check_reverses(&self) -> Result<()> {
        if self.reverses.is_empty() {
            return Ok(());
        }
        let n = self.branches.len();
        let branch_fits = |branch: usize| {
            let (block, reverse) = (&self.branches[branch], &self.reverses[branch]);
            let (given, residuals) = (&self.given[branch], &self.residuals[branch]);
            let (found, of_run) = (&self.found[branch], &self.of_run[branch]);
            let is_source = |&source: &i64| match usize::try_from(source) {
                Ok(operand) => operand < block.n_params,
                Err(_) => self.output(branch, (-1 - source) as usize).is_ok(),
            };
            given
                .iter()
                .all(|&result| result < block.results.len() && self.output(branch, result).is_ok())
                && residuals.iter().all(is_source)
                && reverse.n_params == given.len() + 2 * self.wanted.len() + residuals.len()
                && reverse.results.len() == found.len() + of_run.len()
                && found.iter().all(|i| self.wanted.contains(i))
                && of_run.iter().all(|i| found.contains(i))
                && self.wanted.iter().all(|&i| i < block.n_params)
        };
        let complete =
            [&self.given, &self.found, &self.of_run].iter().all(|of_branch| of_branch.len() == n)
                && self.reverses.len() == n
                && self.residuals.len() == n;
        match complete && (0..n).all(branch_fits) {
            true => Ok(()),
            false => Err(Error::program("the reverse blocks do not fit the branches")),
        }
    }

    /// Applies the branch that the condition chooses.
    fn run(&self, inputs: &[&Var], outs: &[Type]) -> Result<Vec<Var>> {
        let branch = if inputs[0].item::<bool>()? { 0 } else { 1 };
        let results = self.branches[branch].apply(&inputs[1..])?;
        let mut outputs = results[..self.n_results].to_vec();
        for (list, ty) in self.lists.iter().zip(&outs[self.n_results..]) {
            let empty = list_new(ty.element().unwrap_or(*ty))?;
            outputs.push(match list[0] == branch {
                true => list_push(&empty, &results[list[1]])?,
                false => empty,
            });
        }
        Ok(outputs)
    }
}

pub(crate) fn result_types(block: &Block, operands: &[&Type]) -> Result<Vec<Type>> {
    let mut sizes = Sizes::default();
    for (declared, found) in block.param_types().iter().zip(operands) {
        sizes.unify(declared, found)?;
    }
    block.result_types().map(|ty| ty.substitute(&|symbol| sizes.get(symbol))).collect()
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Cond::NAME, Cond::build, Vec::new);
