//! Programs as functions: states come in as values and leave as values.

use std::sync::{Arc, OnceLock};

use fluvial_tensor::{Dim, Result, Type};
use smallvec::{SmallVec, smallvec};

use super::Program;
use crate::block::{Block, Call, ValueId};
use crate::op::OpRef;
use crate::structural::{Assign, Note, Read, StopGradient};

/// The main block of a program without reads and assignments of states. Those that something follows which may
/// fail are noted.
pub struct Stateless {
    /// From the inputs of the program, then the values of `reads`, to the outputs that were asked for, then
    /// the values of `assigns`.
    pub block: Block,
    /// The states that are read before they are assigned.
    pub reads: Vec<Arc<str>>,
    /// The states that are assigned.
    pub assigns: Vec<Arc<str>>,
}

impl Program {
    /// The program as a function that computes these outputs, and all assigned values. What is read of a state
    /// after it was assigned is what was assigned, with no gradient through it.
    ///
    /// ```
    /// use fluvial_core::{DType, Program, Role, Type, Var, assign_state, declare_state};
    ///
    /// let ty = Type::scalar(DType::F64);
    /// let counting = Program::build(&[("x", ty)], |x| {
    ///     let n = declare_state("n", ty, Role::Counter, || Ok(Var::scalar(0.0)))?;
    ///     assign_state("n", &(&n + 1.0))?;
    ///     Ok(vec![&x[0] * &n])
    /// })?;
    /// let function = counting.stateless(&["out0"])?;
    /// let (x, n) = (Var::scalar(2.0), Var::scalar(3.0));
    /// let results = function.block.apply(&[&x, &n])?;
    /// assert_eq!((results[0].item::<f64>()?, results[1].item::<f64>()?), (6.0, 4.0));
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn stateless(&self, outputs: &[&str]) -> Result<Stateless> {
        self.main.check_form()?;
        let positions = outputs.iter().map(|name| self.output(name)).collect::<Result<Vec<_>>>()?;
        let (reads, read_types) = first_reads(&self.main);
        let mut types = self.main.param_types().to_vec();
        let mut new_ids: Vec<ValueId> = (0..types.len() as ValueId).collect();
        new_ids.resize(self.main.types.len(), ValueId::MAX);
        types.extend(read_types);
        let n_params = types.len();
        let mut calls: Vec<Call> = Vec::with_capacity(self.main.calls.len());
        let mut assigned: Vec<(Arc<str>, ValueId)> = Vec::new();
        let last_failing = self.main.failing_calls().iter().rposition(|&failing| failing);
        for (index, call) in self.main.calls.iter().enumerate() {
            let inputs: SmallVec<[ValueId; 4]> =
                call.inputs.iter().map(|&id| new_ids[id as usize]).collect();
            if let Some(assign) = call.op.downcast::<Assign>() {
                if last_failing > Some(index) {
                    let op = OpRef::new(Note { state: assign.state.clone() });
                    let first_output = types.len() as ValueId;
                    calls.push(Call { op, inputs, first_output, ..call.clone() });
                }
                assigned.retain(|(state, _)| *state != assign.state);
                assigned.push((assign.state.clone(), new_ids[call.inputs[0] as usize]));
                continue;
            }
            let first_output = types.len() as ValueId;
            let Some(read) = call.op.downcast::<Read>() else {
                for id in call.outputs() {
                    new_ids[id as usize] = types.len() as ValueId;
                    types.push(self.main.types[id as usize]);
                }
                calls.push(Call { inputs, first_output, ..call.clone() });
                continue;
            };
            let known = assigned.iter().find(|(state, _)| *state == read.state);
            new_ids[call.first_output as usize] = match known {
                Some((_, value)) => {
                    let op = OpRef::new(StopGradient {});
                    calls.push(Call {
                        op,
                        inputs: smallvec![*value],
                        first_output,
                        ..call.clone()
                    });
                    types.push(read.ty);
                    first_output
                }
                None => {
                    let position = reads.iter().position(|state| *state == read.state);
                    (self.main.n_params + position.unwrap_or_default()) as ValueId
                }
            };
        }
        let mut results: Vec<ValueId> =
            positions.iter().map(|&i| new_ids[self.main.results[i] as usize]).collect();
        results.extend(assigned.iter().map(|(_, id)| *id));
        let assigns = assigned.into_iter().map(|(state, _)| state).collect();
        let hooks = self.main.hooks.moved(|id| Some(new_ids[id as usize]));
        let (names, facts) = (Default::default(), OnceLock::new());
        let block = Block { types, n_params, calls, results, names, hooks, facts };
        Ok(Stateless { block, reads, assigns })
    }
}

/// The states that are read before they are assigned, in order, and their types.
fn first_reads(block: &Block) -> (Vec<Arc<str>>, Vec<Type>) {
    let mut known: Vec<Arc<str>> = Vec::new();
    let (mut names, mut types) = (Vec::new(), Vec::new());
    for call in &block.calls {
        if let Some(assign) = call.op.downcast::<Assign>() {
            known.push(assign.state.clone());
        }
        if let Some(read) = call.op.downcast::<Read>()
            && !known.contains(&read.state)
        {
            known.push(read.state.clone());
            names.push(read.state.clone());
            types.push(read.ty);
        }
    }
    (names, types)
}

impl Block {
    /// The block that computes these results, given by their numbers, without effects that they do not need;
    /// and which of the parameters it takes: those that are used or that bind sizes.
    pub fn function_of(&self, results: &[usize]) -> Result<(Block, Vec<usize>)> {
        self.check_form()?;
        let results: Vec<ValueId> = results.iter().map(|&i| self.results[i]).collect();
        let is_open = |dim: &Dim| dim.symbols().iter().any(|symbol| is_reserved(*symbol));
        let binds = |call: &Call| {
            let types = self.output_types(call);
            !call.op.properties().effect && types.iter().any(|ty| ty.dims().iter().any(is_open))
        };
        let block = self.keep(&results, &binds);
        let uses = block.use_counts();
        let taken: Vec<usize> =
            (0..block.n_params).filter(|&i| uses[i] > 0 || block.types[i].is_symbolic()).collect();
        let n_dropped = (block.n_params - taken.len()) as ValueId;
        let moved = |id: &ValueId| match taken.binary_search(&(*id as usize)) {
            Ok(position) => position as ValueId,
            Err(_) => id - n_dropped,
        };
        let hooked = |id: ValueId| {
            let is_there = id as usize >= block.n_params || taken.contains(&(id as usize));
            is_there.then(|| moved(&id))
        };
        let calls = block.calls.iter().map(|call| Call {
            inputs: call.inputs.iter().map(moved).collect(),
            first_output: call.first_output - n_dropped,
            ..call.clone()
        });
        let params = taken.iter().map(|&i| block.types[i]);
        let pruned = Block {
            types: params.chain(block.types[block.n_params..].iter().copied()).collect(),
            n_params: taken.len(),
            calls: calls.collect(),
            results: block.results.iter().map(moved).collect(),
            names: Default::default(),
            hooks: block.hooks.moved(hooked),
            facts: OnceLock::new(),
        };
        Ok((pruned, taken))
    }
}

/// Whether a symbol stands for a size that only a run knows.
pub(crate) fn is_reserved(symbol: Dim) -> bool {
    symbol.symbol_name().is_some_and(|name| name.starts_with('_'))
}
