//! Moves reads and assignments of states, so that they do not stand between ops that belong together.

use fluvial_core::structural::{Assign, Note, Read};
use fluvial_core::{Block, Call, Result, Rewrite, ValueId};

use super::is_pure;
use crate::driver::Patches;

/// Reads go up and assignments down, as far as the next other effect; assignments also not past what may fail.
pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let (stretches, failing) = (stretches(block), block.failing_calls());
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
            order.extend(of(Kind::Read));
            let mut assigns = Vec::new();
            for i in stretch.clone() {
                match Kind::of(&block.calls[i]) {
                    Kind::Read => {}
                    Kind::Assign => assigns.push(i),
                    Kind::Other => {
                        if failing[i] {
                            order.append(&mut assigns);
                        }
                        order.push(i);
                    }
                }
            }
            order.append(&mut assigns);
        }
    }
    reorder(block, &order, patches, "moved reads and assignments of states")
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Assign,
    Other,
}

impl Kind {
    pub(super) fn of(call: &Call) -> Kind {
        match (read_state(call), assigned_state(call)) {
            (Some(_), _) => Kind::Read,
            (_, Some(_)) => Kind::Assign,
            _ => Kind::Other,
        }
    }
}

pub(super) fn read_state(call: &Call) -> Option<&str> {
    call.op.downcast::<Read>().map(|read| &*read.state)
}

/// The state that a call assigns, or notes as assigned.
pub(super) fn assigned_state(call: &Call) -> Option<&str> {
    let noted = || call.op.downcast::<Note>().map(|note| &*note.state);
    call.op.downcast::<Assign>().map(|assign| &*assign.state).or_else(noted)
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
pub(super) fn reorder(
    block: &Block,
    order: &[usize],
    patches: &mut Patches,
    what: &str,
) -> Result<Block> {
    if order.is_sorted() || !patches.allowed() {
        return Ok(block.clone());
    }
    let mut on = Rewrite::new(block.param_types());
    let mut new: Vec<ValueId> = (0..block.n_params as ValueId).collect();
    new.resize(block.types.len(), ValueId::MAX);
    order.iter().for_each(|&i| on.copy(block, &block.calls[i], &mut new));
    if let Some(call) = block.calls.first() {
        patches.add(call.loc, || what.to_string());
    }
    Ok(on.finish_like(block, &new))
}
