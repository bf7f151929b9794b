//! Programs from programs: gradients appended, outputs selected, training removed.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use fluvial_tensor::{Dim, Error, ErrorKind, Result, Type};

use super::{Program, Role, begin_program, end_program, program_input};
use crate::attrs::{Attr, Attrs};
use crate::block::{Block, Call, ValueId};
use crate::op::OpRef;
use crate::reverse::{GradOptions, vjp};
use crate::state::{State, read_state};
use crate::structural::{Assign, Constant, Read};
use crate::trace::{Depth, root, with_frames};
use crate::var::Var;

impl Program {
    /// The program that also returns the gradients of output `loss`, a scalar, with respect to
    /// the named inputs and states. With no names, all parameters. Outputs are named `grad(name)`.
    #[track_caller]
    pub fn append_backward(&self, loss: &str, wrt: &[&str]) -> Result<Program> {
        let loc = crate::scope::user_line();
        let loss = self.output(loss)?;
        let parameters = || {
            let trained = self.states.iter().filter(|(_, decl)| decl.role == Role::Parameter);
            trained.map(|(name, _)| &**name).collect::<Vec<_>>()
        };
        let wrt = if wrt.is_empty() { parameters() } else { wrt.to_vec() };
        self.extend(|inputs, results| {
            let _line = crate::scope::at(loc);
            let mut values = Vec::new();
            for name in &wrt {
                values.push(match self.inputs.iter().position(|known| &**known == *name) {
                    Some(i) => inputs[i].clone(),
                    None => initial_state(name)?,
                });
            }
            let refs: Vec<&Var> = values.iter().collect();
            // The program that comes of it may be differentiated again.
            let options = GradOptions { create_graph: true, ..GradOptions::default() };
            let grads = vjp(&[&results[loss]], &[None], &refs, options)?;
            let named = wrt.iter().zip(grads).map(|(name, grad)| {
                let grad = grad.ok_or_else(|| {
                    let what = format!("output {loss} does not depend on `{name}`");
                    Error::new(ErrorKind::Unreached, what)
                })?;
                Ok((format!("grad({name})"), grad))
            });
            named.collect()
        })
    }

    /// The program with further outputs, which `f` computes from inputs and results.
    fn extend(
        &self,
        f: impl FnOnce(&[Var], &[Var]) -> Result<Vec<(String, Var)>>,
    ) -> Result<Program> {
        self.built_anew(|inputs| {
            let results = self.main.apply(&inputs.iter().collect::<Vec<_>>())?;
            let further = f(inputs, &results)?;
            let own = self.outputs.iter().map(|name| name.to_string()).zip(results);
            Ok(own.chain(further).collect())
        })
    }

    /// A program with the same inputs and states, whose outputs `f` computes from the inputs.
    fn built_anew(&self, f: impl FnOnce(&[Var]) -> Result<Vec<(String, Var)>>) -> Result<Program> {
        // What states the program reads is its own affair, not that of the thread's scope.
        let _state = State::new().enter();
        let _depth = Depth::here();
        begin_program();
        with_frames(|frames| {
            let root = root(frames)?;
            self.states.iter().for_each(|(name, decl)| root.enter(name.clone(), decl.clone()));
            Ok(())
        })?;
        let inputs = self.inputs.iter().zip(self.input_types());
        let inputs =
            inputs.map(|(name, ty)| program_input(name, *ty)).collect::<Result<Vec<_>>>()?;
        let outputs = f(&inputs)?;
        let named = outputs.iter().map(|(name, var)| (name.as_str(), var));
        let mut program = end_program(&named.collect::<Vec<_>>())?;
        program.startup = self.startup.clone();
        Ok(program)
    }

    /// The program that computes these outputs and changes nothing: what is read of a state after it was
    /// assigned is what was assigned.
    ///
    /// ```
    /// use fluvial_core::{DType, Program, Role, Type, Var, assign_state, declare_state};
    ///
    /// let ty = Type::scalar(DType::F64);
    /// let counting = Program::build(&[("x", ty)], |x| {
    ///     let n = declare_state("n", ty, Role::Counter, || Ok(Var::scalar(0.0)))?;
    ///     assign_state("n", &(&n + 1.0))?;
    ///     Ok(vec![&x[0] * &fluvial_core::read_state("n")?])
    /// })?;
    /// let looking = counting.without_effects(&["out0"])?;
    /// assert!(looking.main.calls.iter().all(|call| call.op.name() != "assign"));
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn without_effects(&self, outputs: &[&str]) -> Result<Program> {
        let whole = self.stateless(outputs)?;
        let (block, taken) = whole.block.function_of(&(0..outputs.len()).collect::<Vec<_>>())?;
        let program = self.built_anew(|inputs| {
            let value = |&i: &usize| match i.checked_sub(inputs.len()) {
                Some(number) => read_state(&whole.reads[number]),
                None => Ok(inputs[i].clone()),
            };
            let given = taken.iter().map(value).collect::<Result<Vec<Var>>>()?;
            let results = block.apply(&given.iter().collect::<Vec<_>>())?;
            Ok(outputs.iter().map(|name| name.to_string()).zip(results).collect())
        })?;
        let main = program.main.clone();
        Ok(program.of_main(main, outputs))
    }

    /// The program that computes these outputs and nothing else: no assignment and no other effect
    /// remains that they do not need, and no state that nothing reads.
    pub fn prune(&self, outputs: &[&str]) -> Result<Program> {
        self.main.check_form()?;
        self.startup.check_form()?;
        let positions = outputs.iter().map(|name| self.output(name)).collect::<Result<Vec<_>>>()?;
        let results: Vec<ValueId> = positions.iter().map(|&i| self.main.results[i]).collect();
        Ok(self.of_main(self.main.keep(&results, &|_| false), outputs))
    }

    /// The program with another main block, and the states that this one reads.
    fn of_main(&self, main: Block, outputs: &[&str]) -> Program {
        let mut program = Program {
            main,
            startup: Block::default(),
            states: self.states.clone(),
            inputs: self.inputs.clone(),
            outputs: outputs.iter().map(|&name| name.into()).collect(),
        };
        let read = |call: &Call| call.op.downcast::<Read>().map(|read| read.state.clone());
        let used: BTreeSet<Arc<str>> = program.main.calls.iter().filter_map(read).collect();
        program.startup = self.startup_for(&used, &|_| false);
        let by_startup = program.startup.calls.iter().filter_map(read);
        let needed: BTreeSet<Arc<str>> = used.iter().cloned().chain(by_startup).collect();
        program.states.retain(|name, _| needed.contains(name));
        program
    }

    /// The part of the startup block that gives these states, and those it reads for that and that
    /// are not `present`, their initial values.
    pub(super) fn startup_for(
        &self,
        states: &BTreeSet<Arc<str>>,
        present: &dyn Fn(&str) -> bool,
    ) -> Block {
        let mut wanted = states.clone();
        loop {
            let needed = |call: &Call| {
                call.op.downcast::<Assign>().is_some_and(|assign| wanted.contains(&assign.state))
            };
            let block = self.startup.keep(&[], &needed);
            let reads = block.calls.iter().filter_map(|call| call.op.downcast::<Read>());
            let before = wanted.len();
            wanted.extend(reads.map(|read| read.state.clone()).filter(|name| !present(name)));
            if wanted.len() == before {
                return block;
            }
        }
    }

    /// The program for inference: ops in their inference variant (dropout passes its input on),
    /// and only what the outputs need, so that updates of state are gone.
    pub fn for_inference(&self) -> Result<Program> {
        let mut program = self.clone();
        program.main = self.main.for_inference()?;
        let outputs: Vec<&str> = self.outputs.iter().map(|name| &**name).collect();
        program.prune(&outputs)
    }

    /// The program that computes the outputs from the numbers that `state` holds now: they are constants of
    /// it, which the compiler works into one another. No states remain, and no effects. What is trained is
    /// best frozen after [`for_inference`](Program::for_inference).
    pub fn freeze(&self, state: &State) -> Result<Program> {
        let outputs: Vec<&str> = self.outputs.iter().map(|name| &**name).collect();
        let mut program = self.prune(&outputs)?;
        program.main = frozen(&program.main, state)?;
        program.prune(&outputs)
    }
}

/// The block with constants for states.
fn frozen(block: &Block, state: &State) -> Result<Block> {
    block.rewrite(|on, _, call| {
        let op = match call.op.downcast::<Read>() {
            Some(read) => OpRef::new(Constant { value: state.tensor(&read.state)? }),
            None if call.op.blocks().is_empty() => return Ok(None),
            None => map_blocks(&call.op, &mut |inner| frozen(inner, state).map(Arc::new))?,
        };
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })
}

/// The value that a state had when the program began: what `wrt` means, also if it is assigned.
fn initial_state(name: &str) -> Result<Var> {
    let first_read = with_frames(|frames| {
        let frame = frames.last()?;
        let read = |call: &&crate::trace::Pending| {
            call.op.downcast::<Read>().is_some_and(|read| &*read.state == name)
        };
        frame.calls.iter().find(read).map(|call| frame.var(call.outputs[0]))
    });
    match first_read {
        Some(var) => Ok(var),
        None => read_state(name),
    }
}

impl Block {
    /// The block that returns `results`, with the calls these need, be it for their sizes, and those for
    /// which `also` holds.
    pub(crate) fn keep(&self, results: &[ValueId], also: &dyn Fn(&Call) -> bool) -> Block {
        let kept = self.needed(results, also);
        let is_of_tasks = |call: &Call| {
            call.op.is_of_tasks() || call.op.blocks().iter().any(|block| block.has_tasks())
        };
        let mut of_tasks = self.calls.iter().zip(&kept).filter(|(call, _)| is_of_tasks(call));
        match of_tasks.any(|(_, kept)| *kept) {
            // What one task waits for, another one does: nothing of it may be left out.
            true => {
                let with_tasks = |call: &Call| also(call) || is_of_tasks(call);
                self.renumbered(results, &self.needed(results, &with_tasks))
            }
            false => self.renumbered(results, &kept),
        }
    }

    /// Which calls the results need, and those that `also` names.
    fn needed(&self, results: &[ValueId], also: &dyn Fn(&Call) -> bool) -> Vec<bool> {
        let binds = self.bound_symbols();
        let mut needed = vec![false; self.types.len()];
        results.iter().for_each(|&id| needed[id as usize] = true);
        let mut symbols: HashSet<Dim> = HashSet::new();
        results.iter().for_each(|&id| symbols.extend(Block::symbols_of(&self.types[id as usize])));
        let mut kept = vec![false; self.calls.len()];
        for (index, call) in self.calls.iter().enumerate().rev() {
            kept[index] = also(call)
                || call.outputs().any(|id| needed[id as usize])
                || binds[index].iter().any(|symbol| symbols.contains(symbol));
            if !kept[index] {
                continue;
            }
            let values = call.inputs.iter().copied().chain(call.outputs());
            values.for_each(|id| symbols.extend(Block::symbols_of(&self.types[id as usize])));
            let mut used = Vec::new();
            call.op.attrs().symbols(&mut used);
            symbols.extend(used);
            call.inputs.iter().for_each(|&id| needed[id as usize] = true);
        }
        kept
    }

    /// By call: the symbols that its outputs have first.
    pub fn bound_symbols(&self) -> Vec<Vec<Dim>> {
        if !self.is_symbolic() {
            return vec![Vec::new(); self.calls.len()];
        }
        let mut known: HashSet<Dim> =
            self.param_types().iter().flat_map(Block::symbols_of).collect();
        let of_call = |call: &Call| {
            let outputs = call.outputs().map(|id| &self.types[id as usize]);
            outputs.flat_map(Block::symbols_of).filter(|&symbol| known.insert(symbol)).collect()
        };
        self.calls.iter().map(of_call).collect()
    }

    /// The symbols of a type. The elements of lists are free: their sizes bind nothing and need nothing.
    pub fn symbols_of(ty: &Type) -> Vec<Dim> {
        match ty.is_symbolic() && !ty.is_list() {
            true => ty.dims().iter().flat_map(|dim| dim.symbols()).collect(),
            false => Vec::new(),
        }
    }

    fn renumbered(&self, results: &[ValueId], kept: &[bool]) -> Block {
        let mut new_ids: Vec<ValueId> = (0..self.types.len() as ValueId).collect();
        let mut types = self.param_types().to_vec();
        let mut calls = Vec::new();
        for (call, _) in self.calls.iter().zip(kept).filter(|(_, kept)| **kept) {
            let first_output = types.len() as ValueId;
            for id in call.outputs() {
                new_ids[id as usize] = types.len() as ValueId;
                types.push(self.types[id as usize]);
            }
            let inputs = call.inputs.iter().map(|&id| new_ids[id as usize]).collect();
            calls.push(Call { inputs, first_output, ..call.clone() });
        }
        let defined = |id: ValueId| {
            (id as usize) < self.n_params
                || self
                    .calls
                    .iter()
                    .zip(kept)
                    .any(|(call, kept)| *kept && call.outputs().contains(&id))
        };
        let names = self.names.iter().filter(|(id, _)| defined(**id));
        let hooks = self.hooks.moved(|id| defined(id).then(|| new_ids[id as usize]));
        Block {
            hooks,
            names: names.map(|(&id, name)| (new_ids[id as usize], name.clone())).collect(),
            results: results.iter().map(|&id| new_ids[id as usize]).collect(),
            n_params: self.n_params,
            types,
            calls,
            facts: OnceLock::new(),
        }
    }

    /// The block with every op, also in nested blocks, in its inference variant.
    fn for_inference(&self) -> Result<Block> {
        let mut block = self.clone();
        block.facts = OnceLock::new();
        for call in &mut block.calls {
            if let Some(variant) = call.op.for_inference() {
                call.op = variant;
            }
            call.op = map_blocks(&call.op, &mut |inner| inner.for_inference().map(Arc::new))?;
        }
        Ok(block)
    }
}

/// The op with each block among its attributes, also in lists, replaced.
pub fn map_blocks(op: &OpRef, f: &mut dyn FnMut(&Block) -> Result<Arc<Block>>) -> Result<OpRef> {
    let attrs = op.attrs();
    if !attrs.iter().any(|(_, attr)| has_block(attr)) {
        return Ok(op.clone());
    }
    let mut mapped = Attrs::new();
    for (name, attr) in attrs.iter() {
        mapped.push(name.to_string(), map_attr(attr, f)?);
    }
    op.rebuild(&mapped)
}

fn has_block(attr: &Attr) -> bool {
    match attr {
        Attr::Block(_) => true,
        Attr::List(items) => items.iter().any(has_block),
        _ => false,
    }
}

fn map_attr(attr: &Attr, f: &mut dyn FnMut(&Block) -> Result<Arc<Block>>) -> Result<Attr> {
    Ok(match attr {
        Attr::Block(block) => Attr::Block(f(block)?),
        Attr::List(items) => {
            Attr::List(items.iter().map(|item| map_attr(item, f)).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}
