//! Lets ops do what follows them, while their result is in the cache.

use fluvial_core::{Block, Call, Result, ValueId};

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let uses = block.use_counts();
    let rewritten = block.rewrite(|on, index, call| {
        if !call.op.properties().elementwise || call.n_outputs != 1 || !patches.allowed() {
            return Ok(None);
        }
        let old = &block.calls[index].inputs;
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
            return Ok(Some(on.push(absorbed.op, &absorbed.inputs, types, call.loc)));
        }
        Ok(None)
    })?;
    // The ops by themselves.
    super::dead::run(&rewritten, patches)
}
