//! Applies the calls of a block to batched values.

use std::cell::RefCell;
use std::ops::Range;

use crate::batch::Randomness;
use crate::batch_control as control;
use crate::batch_spread::{Refused, is_count, spread};

use crate::control::{Checkpoint, Cond, While, scan};
use crate::lists::list_new;
use crate::prelude::*;
use crate::shape::reshape;

/// How a block is applied to a batch.
pub(crate) struct Walk {
    pub size: Dim,
    pub randomness: Randomness,
    looped: RefCell<Vec<Refused>>,
}

/// The results of a block, and which of them are batched.
pub(crate) type Results = (Vec<Var>, Vec<bool>);

impl Walk {
    pub fn new(size: Dim, randomness: Randomness) -> Walk {
        Walk { size, randomness, looped: RefCell::default() }
    }

    /// What ran element by element.
    pub fn looped(&self) -> Vec<Refused> {
        self.looped.take()
    }

    fn note(&self, refused: Refused) {
        let mut looped = self.looped.borrow_mut();
        if !looped.contains(&refused) {
            looped.push(refused);
        }
    }

    /// The same for the rows of a part of the batch.
    pub fn of_rows<R>(&self, size: Dim, f: impl FnOnce(&Walk) -> Result<R>) -> Result<R> {
        let part = Walk::new(size, self.randomness);
        let found = f(&part);
        part.looped().into_iter().for_each(|refused| self.note(refused));
        found
    }

    /// Applies a block, call by call or, if it cannot be, element by element. The parameters in `states` are values
    /// of states, which the last results follow.
    pub fn whole(
        &self,
        block: &Block,
        args: &[Var],
        flags: &[bool],
        states: Range<usize>,
    ) -> Result<Results> {
        if self.randomness == Randomness::Refused {
            refuse_draws(block)?;
        }
        match spread(block, flags, self.randomness) {
            Ok(spread) => self.apply_with(block, args, flags, &spread),
            Err(refused) => {
                self.note(refused);
                self.by_element(block, args, flags, states)
            }
        }
    }

    /// Applies a block of which all calls can be batched.
    pub fn apply(&self, block: &Block, args: &[Var], flags: &[bool]) -> Result<Results> {
        match spread(block, flags, self.randomness) {
            Ok(spread) => self.apply_with(block, args, flags, &spread),
            Err((op, _)) => Err(Error::internal(format!("`{op}` was batched, and cannot be"))),
        }
    }

    fn apply_with(
        &self,
        block: &Block,
        args: &[Var],
        flags: &[bool],
        spread: &[bool],
    ) -> Result<Results> {
        let mut values = Values::new(block, args, flags)?;
        for call in &block.calls {
            let _line = at(call.loc);
            let own: SmallVec<[bool; 8]> =
                call.inputs.iter().map(|&id| spread[id as usize]).collect();
            let outs: SmallVec<[bool; 4]> = call.outputs().map(|id| spread[id as usize]).collect();
            let inputs = values.inputs(call)?;
            let op = values.op(call)?;
            let outputs = match (own.contains(&true) || outs.contains(&true)) && !is_count(call) {
                true => self.batched(block, call, &op, inputs, &own, &outs)?,
                false => bind_at(op, &inputs.iter().collect::<Vec<_>>(), call.loc)?,
            };
            values.define(call, outputs, &outs)?;
        }
        let results = block.results.iter().map(|&id| values.get(id)).collect::<Result<_>>()?;
        Ok((results, block.results.iter().map(|&id| spread[id as usize]).collect()))
    }

    fn batched(
        &self,
        block: &Block,
        call: &Call,
        op: &OpRef,
        mut inputs: Vec<Var>,
        flags: &[bool],
        outs: &[bool],
    ) -> Result<Outputs> {
        if let Some(loops) = op.downcast::<While>() {
            return control::loops(self, loops, &inputs, flags, outs);
        }
        if let Some(choice) = op.downcast::<Cond>() {
            return control::choice(self, choice, &inputs, flags, outs);
        }
        if let Some(again) = op.downcast::<Checkpoint>() {
            return control::again(self, again, &inputs, flags);
        }
        let mut flags: SmallVec<[bool; 8]> = SmallVec::from_slice(flags);
        for (i, input) in inputs.iter_mut().enumerate() {
            if input.ty().is_list() && !flags[i] {
                (*input, flags[i]) = (self.grown(input)?, true);
            }
        }
        let draws = op.properties().random;
        if !(draws && self.randomness == Randomness::Same) {
            let batch = Batch::new(op, &inputs, &flags, self.size, reshape);
            if let Some(outputs) = op.batched(&batch)? {
                return Ok(outputs);
            }
        }
        if block.output_types(call).is_empty() && !op.properties().effect {
            // A note of a state that is the same for all elements needs none for each.
            return Ok(Outputs::new());
        }
        self.note((op.name(), call.loc));
        let xs: Vec<&Var> =
            inputs.iter().zip(&flags).filter(|(_, flag)| **flag).map(|x| x.0).collect();
        let (_, stacked) = scan(&[], &xs, |_, slices| {
            let mut slices = slices.iter();
            let all = inputs.iter().zip(&flags).map(|(input, &flag)| match flag {
                true => slices.next().unwrap_or(input),
                false => input,
            });
            let outputs = bind_at(op.clone(), &all.collect::<Vec<_>>(), call.loc)?;
            Ok((vec![], outputs.into_vec()))
        })?;
        Ok(stacked.into())
    }

    /// Runs the calls that depend on the batch once for each element, the others before.
    fn by_element(
        &self,
        block: &Block,
        args: &[Var],
        flags: &[bool],
        states: Range<usize>,
    ) -> Result<Results> {
        let mut params = flags.to_vec();
        // Draws of their own go on where the element before has ended.
        let carries = self.randomness == Randomness::Different;
        if carries {
            params[states.clone()].fill(true);
        }
        let depends = depends(block, &params);
        let mut values = Values::new(block, args, &vec![false; args.len()])?;
        let is_inner = |call: &Call| call.inputs.iter().any(|&id| depends[id as usize]);
        for call in block.calls.iter().filter(|call| !is_inner(call)) {
            values.run(call)?;
        }
        let n_states = states.len();
        let n_results = block.results.len() - n_states;
        let inner = |id: ValueId| depends[id as usize];
        let results: Vec<ValueId> =
            block.results[..n_results].iter().copied().filter(|&id| inner(id)).collect();
        if let Some(&id) = results.iter().find(|&&id| block.types[id as usize].is_list()) {
            let ty = block.types[id as usize];
            return Err(Error::argument(format!("{ty} cannot be the result of a mapped function"))
                .remedy("stack it to a tensor first"));
        }
        let xs: Vec<usize> = (0..args.len()).filter(|&i| flags[i]).collect();
        let init: Vec<&Var> = if carries { args[states.clone()].iter().collect() } else { vec![] };
        let (last, mut stacked) =
            scan(&init, &xs.iter().map(|&i| &args[i]).collect::<Vec<_>>(), |carried, slices| {
                let mut own = values.clone();
                for (&i, slice) in xs.iter().zip(slices) {
                    own.put(i, slice)?;
                }
                for (i, value) in states.clone().zip(carried) {
                    own.put(i, value)?;
                }
                for call in block.calls.iter().filter(|call| is_inner(call)) {
                    own.run(call)?;
                }
                let next = match carries {
                    true => block.results[n_results..].iter().map(|&id| own.get(id)).collect(),
                    false => Ok(vec![]),
                };
                let stacked = results.iter().map(|&id| own.get(id)).collect::<Result<_>>()?;
                Ok((next?, stacked))
            })?;
        stacked.reverse();
        let (mut found, mut batched) = (Vec::new(), Vec::new());
        for &id in &block.results[..n_results] {
            batched.push(inner(id));
            found.push(match inner(id) {
                true => stacked.pop().ok_or_else(|| Error::internal("a result was lost"))?,
                false => values.get(id)?,
            });
        }
        for (i, &id) in block.results[n_results..].iter().enumerate() {
            batched.push(!carries && inner(id));
            found.push(match carries {
                true => last[i].clone(),
                // Whoever asked is told that it differs.
                false if inner(id) => args[states.start + i].clone(),
                false => values.get(id)?,
            });
        }
        Ok((found, batched))
    }

    /// A value with the axis of the batch, all elements the same; of lists, those that are empty.
    pub fn grown(&self, value: &Var) -> Result<Var> {
        let ty = value.ty();
        match ty.element() {
            Some(element) => list_new(batched_type(&element, self.size)?),
            None => expand(value, batched_type(&ty, self.size)?.dims()),
        }
    }
}

/// By value of the block: whether it depends on these parameters.
fn depends(block: &Block, params: &[bool]) -> Vec<bool> {
    let mut found = params.to_vec();
    found.resize(block.types.len(), false);
    for call in &block.calls {
        let any = call.inputs.iter().any(|&id| found[id as usize]);
        call.outputs().for_each(|id| found[id as usize] = any);
    }
    found
}

fn refuse_draws(block: &Block) -> Result<()> {
    for call in &block.calls {
        if call.op.properties().random {
            return Err(Error::argument(format!("`{}` draws random numbers in a mapped function", call.op.name()))
                .remedy("say with `randomness` whether the elements have \"different\" numbers or the \"same\"")
                .at(call.loc));
        }
        call.op.blocks().iter().try_for_each(|block| refuse_draws(block))?;
    }
    Ok(())
}

/// The values of a block while it is applied.
#[derive(Clone)]
struct Values<'a> {
    block: &'a Block,
    all: Vec<Option<Var>>,
    sizes: Sizes,
}

impl<'a> Values<'a> {
    fn new(block: &'a Block, args: &[Var], batched: &[bool]) -> Result<Values<'a>> {
        let mut values =
            Values { block, all: vec![None; block.types.len()], sizes: Sizes::default() };
        for (i, (arg, &flag)) in args.iter().zip(batched).enumerate() {
            let ty = if flag { element_type(&arg.ty())? } else { arg.ty() };
            // In a loop over elements, a slice comes later and has the type of the parameter.
            if block.types[i].rank() == ty.rank() {
                values.sizes.unify(&block.types[i], &ty)?;
            }
            values.all[i] = Some(arg.clone());
        }
        Ok(values)
    }

    fn put(&mut self, i: usize, value: &Var) -> Result<()> {
        self.sizes.unify(&self.block.types[i], &value.ty())?;
        self.all[i] = Some(value.clone());
        Ok(())
    }

    fn get(&self, id: ValueId) -> Result<Var> {
        let unknown = || Error::internal(format!("value %{id} is not there yet"));
        self.all[id as usize].clone().ok_or_else(unknown)
    }

    fn inputs(&self, call: &Call) -> Result<Vec<Var>> {
        call.inputs.iter().map(|&id| self.get(id)).collect()
    }

    fn op(&mut self, call: &Call) -> Result<OpRef> {
        if !call.op.attrs().is_symbolic() {
            return Ok(call.op.clone());
        }
        if !call.op.blocks().is_empty() {
            self.sizes.rename_inner(&call.op)?;
        }
        substitute_op(&call.op, &|symbol| self.sizes.get(symbol))
    }

    fn run(&mut self, call: &Call) -> Result<()> {
        let _line = at(call.loc);
        let (inputs, op) = (self.inputs(call)?, self.op(call)?);
        let outputs = bind_at(op, &inputs.iter().collect::<Vec<_>>(), call.loc)?;
        self.define(call, outputs, &vec![false; call.n_outputs])
    }

    fn define(&mut self, call: &Call, outputs: Outputs, batched: &[bool]) -> Result<()> {
        if outputs.len() < call.n_outputs {
            return Err(Error::internal(format!("`{}` lost an output", call.op.name())));
        }
        for ((id, output), &flag) in call.outputs().zip(outputs).zip(batched) {
            let declared = &self.block.types[id as usize];
            let ty = if flag { element_type(&output.ty())? } else { output.ty() };
            if ty.rank() != declared.rank() || ty.dtype() != declared.dtype() {
                return Err(Error::internal(format!(
                    "the batching rule of `{}` gave {ty} for {declared}",
                    call.op.name()
                )));
            }
            if declared.is_symbolic() {
                self.sizes.unify(declared, &ty).map_err(|error| error.at(call.loc))?;
            }
            self.all[id as usize] = Some(output);
        }
        Ok(())
    }
}

/// The rule of an op that has a definition by others: these are batched.
pub(crate) fn by_definition(
    batch: &Batch<'_>,
    definition: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
) -> Result<Outputs> {
    let n = batch.n_inputs();
    let types = (0..n).map(|i| batch.ty(i)).collect::<Result<Vec<_>>>()?;
    let traced = trace_block(&types, definition)?;
    let closed = close(vec![traced], Runs::One)?;
    let mut args: Vec<Var> = (0..n).map(|i| batch.given(i).clone()).collect();
    let mut flags: Vec<bool> = (0..n).map(|i| batch.is_batched(i)).collect();
    args.extend(closed.captures.iter().cloned());
    flags.resize(args.len(), false);
    let walk = Walk::new(batch.size(), Randomness::Same);
    let (results, batched) = walk.apply(&closed.blocks[0], &args, &flags)?;
    let full = results.iter().zip(batched).map(|(result, flag)| match flag {
        true => Ok(result.clone()),
        false => walk.grown(result),
    });
    full.collect()
}
