//! Which values lie where in the arena of a block.

use std::ops::Range;

use fluvial_compile::memory::{Lifetime, layout};
use fluvial_core::structural::{Assign, Read};
use fluvial_core::{Block, Type};

/// By value: its range, if it has one; and the ranges.
///
/// A value whose size is known lies in the arena if it ends with the run. Views of it prolong its life.
pub(super) fn places(block: &Block) -> (Vec<Option<u32>>, Vec<Range<usize>>) {
    let mut last_use: Vec<usize> = vec![0; block.types.len()];
    let mut escapes = vec![false; block.types.len()];
    block.results.iter().for_each(|&id| escapes[id as usize] = true);
    for (step, call) in block.calls.iter().enumerate().rev() {
        let into_list = call.outputs().any(|id| block.types[id as usize].is_list());
        let kept = into_list || call.op.downcast::<Assign>().is_some();
        let is_view = call.op.properties().view;
        for &id in &call.inputs {
            let viewed = call.outputs().filter(|_| is_view);
            let (mut until, mut away) = (step, kept);
            for output in viewed {
                until = until.max(last_use[output as usize]);
                away |= escapes[output as usize];
            }
            let id = id as usize;
            last_use[id] = last_use[id].max(until);
            escapes[id] |= away;
        }
        call.outputs().for_each(|id| {
            let id = id as usize;
            last_use[id] = last_use[id].max(step);
        });
    }
    let mut places = vec![None; block.types.len()];
    let mut lifetimes = Vec::new();
    for (step, call) in block.calls.iter().enumerate() {
        // What these give is memory of others.
        if call.op.properties().view || call.op.downcast::<Read>().is_some() {
            continue;
        }
        for id in call.outputs() {
            let id = id as usize;
            if let Some(bytes) = bytes(&block.types[id]).filter(|_| !escapes[id]) {
                places[id] = Some(lifetimes.len() as u32);
                lifetimes.push(Lifetime { bytes, from: step, to: last_use[id] });
            }
        }
    }
    (places, layout(&lifetimes))
}

/// The bytes of a value that needs memory of its own.
fn bytes(ty: &Type) -> Option<usize> {
    let numel = ty.numel().filter(|&n| n > 1 && !ty.is_list())?;
    Some(numel * ty.dtype().size())
}
