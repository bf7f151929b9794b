//! Which values lie where in the arena of a block, and which ops write over their inputs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use fluvial_compile::memory::{Lifetime, layout};
use fluvial_core::structural::{Assign, Read};
use fluvial_core::{Block, Call, Type, ValueId};
use smallvec::SmallVec;

use super::notes::Notes;

/// The memory of the values of a block.
pub(super) struct Places {
    /// By value: its range, if it has one.
    pub of_value: Vec<Option<u32>>,
    /// The ranges.
    pub ranges: Vec<Range<usize>>,
    /// By call and output: what it is written over.
    pub over: Vec<SmallVec<[Option<Over>; 1]>>,
}

/// Memory in which an op finds an input and leaves an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// That of a value that nothing needs any more.
    Value(ValueId),
    /// That of a state, which is assigned the output next; and the value that was read from it.
    State(Arc<str>, ValueId),
}

impl Over {
    /// The value whose memory it is.
    pub(super) fn value(&self) -> ValueId {
        match self {
            Over::Value(id) | Over::State(_, id) => *id,
        }
    }
}

/// What is known of a value on the way from the last call to the first.
#[derive(Clone, Copy, Default)]
struct Life {
    /// The last step that uses it, also by a view or by a value written over it.
    until: Option<usize>,
    /// Whether it outlives the run.
    escapes: bool,
    /// Whether it has the memory of another value.
    shares: bool,
}

/// A value whose size is known lies in the arena if it ends with the run. Views of it, and values written
/// over it, prolong its life, and so do notes. Parameters that are `donated`, by number, are written over like other values.
pub(super) fn places(block: &Block, donated: &[bool], notes: &Notes) -> Places {
    let touches = Touches::of(block);
    let mut lives = vec![Life::default(); block.types.len()];
    let shown = shown(block);
    // What holds for a view holds at once for what it shows: calls between them ask.
    let touch = |lives: &mut [Life], id: ValueId, until: Option<usize>, escapes: bool| {
        let mut all: SmallVec<[ValueId; 4]> = SmallVec::from_elem(id, 1);
        while let Some(id) = all.pop() {
            let life = &mut lives[id as usize];
            life.until = life.until.max(until);
            life.escapes |= escapes;
            all.extend_from_slice(shown[id as usize]);
        }
    };
    block.results.iter().for_each(|&id| touch(&mut lives, id, None, true));
    let mut over = vec![SmallVec::new(); block.calls.len()];
    for (step, call) in block.calls.iter().enumerate().rev() {
        let into_list = call.outputs().any(|id| block.types[id as usize].is_list());
        let kept = into_list || call.op.downcast::<Assign>().is_some();
        notes.held_until(step).for_each(|id| touch(&mut lives, id, Some(step), false));
        over[step] = find_over(block, step, call, &lives, &touches, donated);
        for (output, over) in call.outputs().zip(&over[step]) {
            if let Some(over) = over {
                let until = lives[output as usize].until.unwrap_or(step);
                let source = &mut lives[over.value() as usize];
                source.until = Some(source.until.unwrap_or(0).max(until));
                lives[output as usize].shares = true;
            }
        }
        call.inputs.iter().for_each(|&id| touch(&mut lives, id, Some(step), kept));
    }
    let mut of_value = vec![None; block.types.len()];
    let mut lifetimes = Vec::new();
    for (step, call) in block.calls.iter().enumerate() {
        // Ops with blocks give what these give, which is never in this arena.
        if gives_memory_of_others(call) || !call.op.blocks().is_empty() {
            continue;
        }
        for id in call.outputs() {
            let life = lives[id as usize];
            let needed = !life.escapes && !life.shares;
            if let Some(bytes) = bytes(&block.types[id as usize]).filter(|_| needed) {
                of_value[id as usize] = Some(lifetimes.len() as u32);
                let to = life.until.unwrap_or(step).max(step);
                lifetimes.push(Lifetime { bytes, from: step, to });
            }
        }
    }
    Places { of_value, ranges: layout(&lifetimes), over }
}

/// By value: the values that it may be a view of.
fn shown(block: &Block) -> Vec<&[ValueId]> {
    let mut shown: Vec<&[ValueId]> = vec![&[]; block.types.len()];
    for call in block.calls.iter().filter(|call| call.op.properties().view) {
        call.outputs().for_each(|id| shown[id as usize] = &call.inputs);
    }
    shown
}

/// Whether what the call gives may be memory that it does not own.
fn gives_memory_of_others(call: &Call) -> bool {
    call.op.properties().view || call.op.downcast::<Read>().is_some() || call.inputs.is_empty()
}

/// By output: which input's memory it can have.
fn find_over(
    block: &Block,
    step: usize,
    call: &Call,
    lives: &[Life],
    touches: &Touches<'_>,
    donated: &[bool],
) -> SmallVec<[Option<Over>; 1]> {
    let mut taken: SmallVec<[ValueId; 4]> = SmallVec::new();
    let (n_over, is_elementwise) = (call.op.n_over(call.inputs.len()), is_elementwise(block, call));
    let mut inputs: SmallVec<[ValueId; 8]> = call.inputs.iter().copied().collect();
    inputs.sort_unstable();
    let is_once = |id: ValueId| {
        inputs.partition_point(|&i| i <= id) - inputs.partition_point(|&i| i < id) == 1
    };
    let find = |(k, output): (usize, ValueId)| {
        let ty = &block.types[output as usize];
        let candidates = match k < n_over {
            true => &call.inputs[k..=k],
            false if is_elementwise => &call.inputs[..],
            false => &[],
        };
        bytes(ty)?;
        let found = candidates.iter().find_map(|&id| {
            let fits = block.types[id as usize] == *ty
                && (n_over == 0 || is_once(id))
                && lives[id as usize].until.is_none()
                && !lives[id as usize].escapes
                && !taken.contains(&id);
            if !fits {
                return None;
            }
            if (id as usize) < block.n_params {
                let is_donated = donated.get(id as usize).copied().unwrap_or(false);
                return is_donated.then_some(Over::Value(id));
            }
            let (made_at, producer) = definition(block, id)?;
            match producer.op.downcast::<Read>() {
                Some(read) => touches
                    .is_assigned_next(block, &read.state, made_at, step, output)
                    .then(|| Over::State(read.state.clone(), id)),
                None => {
                    let ends_here = !lives[output as usize].escapes;
                    (ends_here && !gives_memory_of_others(producer)).then_some(Over::Value(id))
                }
            }
        })?;
        taken.push(found.value());
        Some(found)
    };
    call.outputs().enumerate().map(find).collect()
}

/// Whether the call applies scalar expressions in the type of its outputs.
fn is_elementwise(block: &Block, call: &Call) -> bool {
    let types: SmallVec<[&Type; 4]> =
        call.inputs.iter().map(|&id| &block.types[id as usize]).collect();
    let (Some(_), Some(compute)) = (call.op.body(), call.op.body_dtype(&types)) else {
        return false;
    };
    call.op.properties().elementwise
        && call.outputs().all(|id| block.types[id as usize].dtype() == compute)
}

fn definition(block: &Block, id: ValueId) -> Option<(usize, &Call)> {
    let after = block.calls.partition_point(|call| call.first_output <= id);
    // Calls without outputs have the number of the value that follows.
    let index = (0..after).rev().find(|&i| block.calls[i].outputs().contains(&id))?;
    Some((index, &block.calls[index]))
}

/// Where the calls of a block touch states.
struct Touches<'a> {
    /// By state: the calls that read it or assign it, in order, and whether they assign it.
    of_state: HashMap<&'a str, Vec<(usize, bool)>>,
    /// The calls of other effects, which may look at states, and those that may fail and show them.
    looks: Vec<usize>,
}

impl Touches<'_> {
    fn of(block: &Block) -> Touches<'_> {
        let mut touches = Touches { of_state: HashMap::new(), looks: Vec::new() };
        let failing = block.failing_calls();
        for (index, call) in block.calls.iter().enumerate() {
            if let Some(read) = call.op.downcast::<Read>() {
                touches.of_state.entry(&*read.state).or_default().push((index, false));
            } else if let Some(assign) = call.op.downcast::<Assign>() {
                touches.of_state.entry(&*assign.state).or_default().push((index, true));
            } else if call.op.properties().effect || failing[index] {
                touches.looks.push(index);
            }
        }
        touches
    }

    /// Whether the output of `step` is assigned to the state, and nothing else touches the state since the
    /// read.
    fn is_assigned_next(
        &self,
        block: &Block,
        state: &str,
        read_at: usize,
        step: usize,
        output: ValueId,
    ) -> bool {
        let next = self.of_state.get(state).and_then(|calls| {
            let after = calls.partition_point(|&(index, _)| index <= read_at);
            calls.get(after).copied()
        });
        let Some((assigned_at, true)) = next.filter(|&(index, _)| index > step) else {
            return false;
        };
        let next_look = self.looks.partition_point(|&index| index <= step);
        let is_seen = self.looks.get(next_look).is_some_and(|&index| index < assigned_at);
        !is_seen && block.calls[assigned_at].inputs[..] == [output]
    }
}

/// The bytes of a value that needs memory of its own.
fn bytes(ty: &Type) -> Option<usize> {
    let numel = ty.numel().filter(|&n| n > 1 && !ty.is_list())?;
    Some(numel * ty.dtype().size())
}
