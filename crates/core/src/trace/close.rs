//! From frames to finished blocks: captures shared, state carried, values renumbered.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use fluvial_tensor::{Error, Loc, Result};
use smallvec::smallvec;

use super::frame::{Frame, Noted};
use super::freed;
use super::history::Lost;
use super::joins::{Runs, take_over};
use super::states::read_symbolic;
use crate::block::{Block, Call, Hooks, ValueId};
use crate::op::OpRef;
use crate::structural::Note;
use crate::var::Var;

/// A block whose building has ended, with what it captured and assigned.
pub struct Traced {
    pub(super) frame: Frame,
    results: Vec<ValueId>,
}

/// Blocks that take the same operands: parameters, then carried states, then captures; and return
/// their results, then the carried states.
pub struct Closed {
    /// The blocks.
    pub blocks: Vec<Arc<Block>>,
    /// The states that any of the blocks assigns. They come in as operands and leave as results;
    /// whoever calls the blocks assigns them once, afterwards.
    pub states: Vec<Arc<str>>,
    /// The values of these states before the call.
    pub entries: Vec<Var>,
    /// What any of the blocks uses from outside.
    pub captures: Vec<Var>,
    /// Gradients that the blocks take with respect to values from outside.
    pub(super) lost: Vec<Lost>,
    /// Where something was computed outside that a backward pass of the blocks frees.
    pub(super) frees: Option<Loc>,
}

impl Traced {
    pub(crate) fn new(frame: Frame, results: Vec<ValueId>) -> Traced {
        Traced { frame, results }
    }

    pub(super) fn into_parts(self) -> (Frame, Vec<ValueId>) {
        (self.frame, self.results)
    }

    /// The block alone, for frames that captured and assigned nothing.
    pub(crate) fn into_block(self) -> (Block, Frame) {
        let params = self.frame.params.clone();
        let block = renumber(&self.frame, &params, &[], &self.results);
        (block, self.frame)
    }

    /// The block of a frame that is still under construction.
    pub(crate) fn preview(frame: &Frame, results: &[ValueId]) -> Block {
        renumber(frame, &frame.params, &[], results)
    }

    /// The block with some of its results, in this order.
    pub fn select(self, numbers: &[usize]) -> Result<Traced> {
        let result = |&number: &usize| {
            let unknown = || Error::argument(format!("the block has no result {number}"));
            self.results.get(number).copied().ok_or_else(unknown)
        };
        let results = numbers.iter().map(result).collect::<Result<Vec<_>>>()?;
        Ok(Traced { results, ..self })
    }

    /// The types of the results.
    pub fn result_types(&self) -> Vec<fluvial_tensor::Type> {
        self.results.iter().map(|&id| self.frame.types[id as usize]).collect()
    }
}

/// Finishes blocks that are alternatives of one another, or a single one. The block they stand in
/// must be on top again.
pub fn close(parts: Vec<Traced>, runs: Runs) -> Result<Closed> {
    let parts = take_over(parts, runs)?;
    let mut states: BTreeSet<Arc<str>> = BTreeSet::new();
    for part in &parts {
        states.extend(part.frame.assigned.iter().cloned());
    }
    let states: Vec<Arc<str>> = states.into_iter().collect();
    let entries = states.iter().map(|name| read_symbolic(name)).collect::<Result<Vec<_>>>()?;

    let mut captures: Vec<Var> = Vec::new();
    for part in &parts {
        let carried: BTreeSet<ValueId> =
            states.iter().filter_map(|name| part.frame.entries.get(name).copied()).collect();
        for (outer, param) in &part.frame.captures {
            if !carried.contains(param) && !captures.iter().any(|known| known.same(outer)) {
                captures.push(outer.clone());
            }
        }
    }
    let frees = freed::hand_on(&parts);
    let lost = parts.iter().flat_map(|part| part.frame.lost_by_position()).collect();
    let blocks = parts
        .into_iter()
        .map(|part| Arc::new(close_one(part, &states, &entries, &captures)))
        .collect();
    Ok(Closed { blocks, states, entries, captures, lost, frees })
}

fn close_one(part: Traced, states: &[Arc<str>], entries: &[Var], captures: &[Var]) -> Block {
    let Traced { mut frame, mut results } = part;
    let captured: BTreeSet<ValueId> = frame.captures.iter().map(|(_, param)| *param).collect();
    let mut params: Vec<ValueId> =
        frame.params.iter().copied().filter(|id| !captured.contains(id)).collect();
    for (name, entry) in states.iter().zip(entries) {
        let param = match frame.entries.get(name) {
            Some(&param) => param,
            None => frame.param(entry.ty()).symbol_id(),
        };
        params.push(param);
        results.push(frame.states.get(name).copied().unwrap_or(param));
        let loc = frame.calls.first().map_or(Loc::Unknown, |call| call.loc);
        frame.notes.insert(0, Noted { at: 0, state: name.clone(), value: param, loc });
    }
    let mut aliases = Vec::new();
    for outer in captures {
        let own: Vec<ValueId> = frame
            .captures
            .iter()
            .filter(|(var, param)| var.same(outer) && !params.contains(param))
            .map(|(_, param)| *param)
            .collect();
        let param = match own.first() {
            Some(&first) => first,
            None => frame.param(outer.ty()).symbol_id(),
        };
        params.push(param);
        aliases.extend(own.iter().skip(1).map(|&other| (other, param)));
    }
    renumber(&frame, &params, &aliases, &results)
}

/// The block with its values numbered in the order of definition, parameters first. The first of
/// each pair of `aliases` is another name of the second.
fn renumber(
    frame: &Frame,
    params: &[ValueId],
    aliases: &[(ValueId, ValueId)],
    results: &[ValueId],
) -> Block {
    let mut new_ids: HashMap<ValueId, ValueId> = HashMap::new();
    let mut types = Vec::with_capacity(frame.types.len());
    for &id in params {
        new_ids.insert(id, types.len() as ValueId);
        types.push(frame.types[id as usize]);
    }
    for (alias, param) in aliases {
        new_ids.insert(*alias, new_ids[param]);
    }
    let mut calls = Vec::with_capacity(frame.calls.len());
    for call in &frame.calls {
        let inputs = call.inputs.iter().map(|id| new_ids[id]).collect();
        let first_output = types.len() as ValueId;
        for &id in &call.outputs {
            new_ids.insert(id, types.len() as ValueId);
            types.push(frame.types[id as usize]);
        }
        let n_outputs = call.outputs.len();
        let (op, loc) = (call.op.clone(), call.loc);
        calls.push(Call { op, inputs, first_output, n_outputs, loc, twin: None });
    }
    let names = frame.names.iter().filter_map(|(id, name)| Some((*new_ids.get(id)?, name.clone())));
    let hooks = frame.hooks.iter();
    let hooks = hooks.filter_map(|(id, on)| Some((*new_ids.get(id)?, on.clone())));
    let block = Block {
        hooks: Hooks(hooks.collect()),
        results: results.iter().map(|id| new_ids[id]).collect(),
        names: names.collect(),
        n_params: params.len(),
        types,
        calls,
        facts: OnceLock::new(),
    };
    with_notes(block, &frame.notes, &new_ids)
}

/// The block with those of its notes that a call which may fail follows, before the next one of the same state.
fn with_notes(block: Block, notes: &[Noted], new_ids: &HashMap<ValueId, ValueId>) -> Block {
    let failing = block.failing_calls();
    let is_needed = |(i, note): &(usize, &Noted)| {
        let next = notes[i + 1..].iter().find(|later| later.state == note.state);
        let end = next.map_or(failing.len(), |next| next.at);
        failing[note.at..end].contains(&true)
    };
    let mut needed = notes.iter().enumerate().filter(is_needed).map(|(_, note)| note).peekable();
    if needed.peek().is_none() {
        return block;
    }
    let mut calls = Vec::with_capacity(block.calls.len());
    let note = |note: &Noted, first_output: ValueId| Call {
        op: OpRef::new(Note { state: note.state.clone() }),
        inputs: smallvec![new_ids[&note.value]],
        first_output,
        n_outputs: 0,
        loc: note.loc,
        twin: None,
    };
    for (index, call) in block.calls.iter().enumerate() {
        while let Some(noted) = needed.next_if(|noted| noted.at <= index) {
            calls.push(note(noted, call.first_output));
        }
        calls.push(call.clone());
    }
    Block { calls, facts: OnceLock::new(), ..block }
}
