//! Moves reads and assignments of states, so that they do not stand between ops that belong together.

use fluvial_core::structural::{Assign, Read};
use fluvial_core::{Block, Call, Result, Rewrite, ValueId};

use super::is_pure;
use crate::driver::Patches;

/// Reads go up and assignments down, as far as the next other effect.
pub(crate) fn apart(block: &Block, patches: &mut Patches) -> Result<Block> {
    let stretches = stretches(block);
    let mut order: Vec<usize> = Vec::with_capacity(block.calls.len());
    for stretch in stretches {
        let of = |kind: Kind| stretch.clone().filter(move |&i| Kind::of(&block.calls[i]) == kind);
        // A state that is read after it was assigned would be read too early.
        let assigned: Vec<&str> =
            of(Kind::Assign).filter_map(|i| assigned_state(&block.calls[i])).collect();
        let again = of(Kind::Read)
            .any(|i| read_state(&block.calls[i]).is_some_and(|name| assigned.contains(&name)));
        let twice = (1..assigned.len()).any(|i| assigned[..i].contains(&assigned[i]));
        if again && !reads_come_first(block, stretch.clone()) || twice {
            order.extend(stretch);
        } else {
            order.extend(of(Kind::Read).chain(of(Kind::Other)).chain(of(Kind::Assign)));
        }
    }
    reorder(block, &order, patches)
}

/// Assignments go up to the op that computes what they assign, so that the old value is freed.
pub(crate) fn together(block: &Block, patches: &mut Patches) -> Result<Block> {
    let mut order: Vec<usize> = Vec::with_capacity(block.calls.len());
    for stretch in stretches(block) {
        let is_assign = |i: &usize| Kind::of(&block.calls[*i]) == Kind::Assign;
        let mut waiting: Vec<usize> = stretch.clone().filter(is_assign).collect();
        for i in stretch {
            if is_assign(&i) {
                continue;
            }
            order.push(i);
            // A read of the state must come first.
            let ready = |&assign: &usize| {
                let call = &block.calls[assign];
                let made = block.calls[i].outputs().contains(&call.inputs[0]);
                let read_later = block.calls[i + 1..].iter().enumerate().any(|(k, other)| {
                    i + 1 + k < assign && read_state(other) == assigned_state(call)
                });
                made && !read_later
            };
            let now: Vec<usize> = waiting.iter().copied().filter(ready).collect();
            waiting.retain(|i| !now.contains(i));
            order.extend(now);
        }
        order.extend(waiting);
    }
    reorder(block, &order, patches)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Assign,
    Other,
}

impl Kind {
    fn of(call: &Call) -> Kind {
        match (read_state(call), assigned_state(call)) {
            (Some(_), _) => Kind::Read,
            (_, Some(_)) => Kind::Assign,
            _ => Kind::Other,
        }
    }
}

fn read_state(call: &Call) -> Option<&str> {
    call.op.downcast::<Read>().map(|read| &*read.state)
}

fn assigned_state(call: &Call) -> Option<&str> {
    call.op.downcast::<Assign>().map(|assign| &*assign.state)
}

/// Whether every state that is read and assigned is read first.
fn reads_come_first(block: &Block, stretch: std::ops::Range<usize>) -> bool {
    stretch.clone().all(|i| match read_state(&block.calls[i]) {
        Some(name) => {
            !block.calls[stretch.start..i].iter().any(|call| assigned_state(call) == Some(name))
        }
        None => true,
    })
}

/// The calls between other effects; such an effect is a stretch of its own.
fn stretches(block: &Block) -> Vec<std::ops::Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    for (i, call) in block.calls.iter().enumerate() {
        if !is_pure(call) && Kind::of(call) == Kind::Other {
            stretches.extend([start..i, i..i + 1]);
            start = i + 1;
        }
    }
    stretches.push(start..block.calls.len());
    stretches
}

/// The block with its calls in this order.
fn reorder(block: &Block, order: &[usize], patches: &mut Patches) -> Result<Block> {
    if order.is_sorted() || !patches.allowed() {
        return Ok(block.clone());
    }
    let mut on = Rewrite::new(block.param_types());
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    order.iter().for_each(|&i| on.copy(block, &block.calls[i], &mut new));
    if let Some(call) = block.calls.first() {
        patches.add(call.loc, || "moved reads and assignments of states".to_string());
    }
    Ok(on.finish_like(block, &new))
}
