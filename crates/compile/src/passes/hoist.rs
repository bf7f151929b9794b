//! Moves what a loop computes alike in every trip in front of the loop.

use std::collections::HashMap;

use fluvial_core::{Block, Call, Carries, NewValues, Result, Rewrite, Type, ValueId, map_blocks};
use smallvec::SmallVec;

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    block.rewrite(|on, _, call| match call.op.carries() {
        Some(carries) => hoist(on, block, call, carries, patches),
        None => Ok(None),
    })
}

fn hoist(
    on: &mut Rewrite,
    block: &Block,
    call: &Call,
    carries: Carries,
    patches: &mut Patches,
) -> Result<Option<NewValues>> {
    let blocks = call.op.blocks();
    let [body] = blocks[..] else { return Ok(None) };
    let params = carries.params + carries.count..body.n_params;
    let given = call.inputs[carries.inputs + carries.count..].iter();
    let mut outside: HashMap<ValueId, ValueId> =
        params.map(|param| param as ValueId).zip(given.copied()).collect();
    let mut moved = vec![false; body.calls.len()];
    for (inner, moved) in body.calls.iter().zip(&mut moved) {
        if !may_move(body, inner) || !patches.allowed() {
            continue;
        }
        let mut inputs: SmallVec<[ValueId; 4]> = SmallVec::new();
        for &id in &inner.inputs {
            let known = outside.get(&id).copied().or_else(|| {
                let call = number(body, id)?;
                let copies = on.push(call.op.clone(), &[], body.output_types(call), call.loc);
                outside.extend(call.outputs().zip(copies));
                outside.get(&id).copied()
            });
            inputs.extend(known);
        }
        if inputs.len() < inner.inputs.len() {
            continue;
        }
        let outputs = on.push_like(inner, &inputs, body.output_types(inner));
        outside.extend(inner.outputs().zip(outputs));
        patches.add(inner.loc, || format!("moved `{}` in front of the loop", inner.op.name()));
        *moved = true;
    }
    if !moved.contains(&true) {
        return Ok(None);
    }
    let (body, given) = without(body, &moved)?;
    let inputs: SmallVec<[ValueId; 4]> =
        call.inputs.iter().copied().chain(given.iter().map(|id| outside[id])).collect();
    let mut bodies = Some(body);
    let op = map_blocks(&call.op, &mut |other| {
        Ok(std::sync::Arc::new(bodies.take().unwrap_or_else(|| other.clone())))
    })?;
    Ok(Some(on.push(op, &inputs, block.output_types(call), call.loc)))
}

/// The call that gives a value which is the same everywhere. It is so small that it stays in the loop, too.
fn number(block: &Block, id: ValueId) -> Option<&Call> {
    let call = block.calls.iter().find(|call| call.outputs().contains(&id))?;
    let ty = &block.types[id as usize];
    let is_fixed = call.inputs.is_empty() && !call.op.attrs().is_symbolic();
    (is_fixed && is_pure(call) && ty.numel() == Some(1)).then_some(call)
}

/// Whether the call cannot fail where the loop would not have run it, and its sizes mean the same outside.
fn may_move(body: &Block, call: &Call) -> bool {
    let properties = call.op.properties();
    let total =
        properties.elementwise || properties.reduction || properties.view || properties.broadcasts;
    is_pure(call)
        && total
        && call.op.fails(&body.input_types(call)).is_none()
        && !call.inputs.is_empty()
        && !call.op.attrs().is_symbolic()
        && !body.output_types(call).iter().any(Type::is_symbolic)
}

/// The block without the moved calls, whose outputs are further parameters if they are used; and the old
/// numbers of those.
fn without(block: &Block, moved: &[bool]) -> Result<(Block, Vec<ValueId>)> {
    let mut used = vec![false; block.types.len()];
    block.results.iter().for_each(|&id| used[id as usize] = true);
    let staying = block.calls.iter().zip(moved).filter(|(_, moved)| !**moved);
    staying.for_each(|(call, _)| call.inputs.iter().for_each(|&id| used[id as usize] = true));
    let gone = block.calls.iter().zip(moved).filter(|(_, moved)| **moved);
    let given: Vec<ValueId> =
        gone.flat_map(|(call, _)| call.outputs()).filter(|&id| used[id as usize]).collect();
    Ok((block.select(&given, |index| !moved[index])?, given))
}
