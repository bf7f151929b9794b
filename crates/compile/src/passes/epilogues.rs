//! Lets ops do what follows them, while their result is in the cache.

use fluvial_core::{Block, Call, NewValues, Result, Rewrite, ValueId};
use smallvec::smallvec;

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let uses = block.use_counts();
    let rewritten = block.rewrite(|on, index, call| {
        if !call.op.properties().elementwise || call.n_outputs != 1 || !patches.allowed() {
            return Ok(None);
        }
        let old = &block.calls[index].inputs;
        if let Some(values) = behind_view(on, block, &block.calls[index], call, &uses, patches)? {
            return Ok(Some(values));
        }
        for (position, &value) in call.inputs.iter().enumerate() {
            let Some(producer) = on.producer(value).filter(|_| uses[old[position] as usize] == 1)
            else {
                continue;
            };
            if !is_pure(producer) || producer.n_outputs != 1 {
                continue;
            }
            let mut next: Call = call.clone();
            next.inputs[position] = ValueId::MAX;
            let absorbed = producer.op.absorb(on, &producer.inputs, &next);
            let Some(absorbed) = absorbed else { continue };
            patches.add(call.loc, || {
                format!("`{}` does `{}`, too", absorbed.op.name(), call.op.name())
            });
            let types = block.output_types(call);
            let twin = on.twin(
                &absorbed.inputs,
                &[(call, types)],
                &[call.first_output],
                &block.names,
                &Some,
            );
            let outputs = on.push(absorbed.op, &absorbed.inputs, types, call.loc);
            on.set_twin(twin);
            return Ok(Some(outputs));
        }
        Ok(None)
    })?;
    // The ops by themselves.
    super::dead::run(&rewritten, patches)
}

/// A function of each element, behind a change of shape only, is done in front of it.
fn behind_view(
    on: &mut Rewrite,
    block: &Block,
    old: &Call,
    call: &Call,
    uses: &[usize],
    patches: &mut Patches,
) -> Result<Option<NewValues>> {
    let ([value], [old_value]) = (&call.inputs[..], &old.inputs[..]) else { return Ok(None) };
    let Some(view) = on.producer(*value).filter(|_| uses[*old_value as usize] == 1) else {
        return Ok(None);
    };
    let keeps_order = view.op.properties().view && view.inputs.len() == 1 && view.n_outputs == 1;
    let same = on.ty(view.first_output).dtype() == block.output_types(call)[0].dtype();
    let Some(view) = Some(view.clone()).filter(|_| keeps_order && same) else { return Ok(None) };
    let source = view.inputs[0];
    let source_is_free = block.calls.iter().filter(|other| other.first_output == *old_value);
    let source_is_free = source_is_free.take(1).any(|other| uses[other.inputs[0] as usize] == 1);
    let Some(producer) = on.producer(source).filter(|_| source_is_free) else { return Ok(None) };
    if !is_pure(producer) || producer.n_outputs != 1 {
        return Ok(None);
    }
    let next = Call { inputs: smallvec![ValueId::MAX], ..call.clone() };
    let Some(absorbed) = producer.op.absorb(on, &producer.inputs, &next) else { return Ok(None) };
    patches.add(call.loc, || format!("`{}` does `{}`, too", absorbed.op.name(), call.op.name()));
    let ty = *on.ty(source);
    let in_front = Call { inputs: smallvec![source], ..call.clone() };
    let twin =
        on.twin(&absorbed.inputs, &[(&in_front, &[ty])], &[call.first_output], &block.names, &Some);
    let result = on.push(absorbed.op, &absorbed.inputs, &[ty], call.loc);
    on.set_twin(twin);
    Ok(Some(on.push(view.op, &result, block.output_types(call), call.loc)))
}
