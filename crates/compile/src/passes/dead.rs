//! Removes what nothing needs.

use std::collections::HashSet;

use fluvial_core::structural::Read;
use fluvial_core::{Block, Dim, Result, ValueId};

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let failing = block.failing_calls();
    let needed = needed(block, &|index| failing[index]);
    if needed.iter().all(|&needed| needed) || !patches.allowed() {
        return Ok(block.clone());
    }
    block.select(&[], |index| {
        let call = &block.calls[index];
        let kept = needed[index] || !patches.allowed();
        if !kept {
            patches.add(call.loc, || format!("removed `{}`", call.op.name()));
        }
        kept
    })
}

/// The block that returns `results`, without what only its other results needed, though it may fail.
pub(crate) fn with_results(block: &Block, results: Vec<ValueId>) -> Result<Block> {
    let others = block.results.iter().filter(|id| !results.contains(id)).copied().collect();
    let given_up = needed(&block.with_results(others), &|_| false);
    let block = block.with_results(results);
    let kept = needed(&block, &|index| !given_up[index]);
    match kept.contains(&false) {
        true => block.select(&[], |index| kept[index]),
        false => Ok(block),
    }
}

/// By call: whether its outputs, its effect or the sizes it binds are needed, or it is one that `stays`.
pub(super) fn needed(block: &Block, stays: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let binds = block.bound_symbols();
    let mut values = vec![false; block.types.len()];
    block.results.iter().for_each(|&id| values[id as usize] = true);
    let mut symbols: HashSet<Dim> = HashSet::new();
    block.result_types().for_each(|ty| symbols.extend(Block::symbols_of(ty)));
    let mut needed = vec![false; block.calls.len()];
    for (index, call) in block.calls.iter().enumerate().rev() {
        let has_effect = !is_pure(call) && call.op.downcast::<Read>().is_none();
        let is_used = call.outputs().any(|id| values[id as usize]);
        let binds_size = binds[index].iter().any(|symbol| symbols.contains(symbol));
        needed[index] = has_effect || is_used || binds_size || stays(index);
        if needed[index] {
            call.inputs.iter().for_each(|&id| values[id as usize] = true);
            let mut used = Vec::new();
            call.op.attrs().symbols(&mut used);
            symbols.extend(used);
            let types = call.inputs.iter().copied().chain(call.outputs());
            types.for_each(|id| symbols.extend(Block::symbols_of(&block.types[id as usize])));
        }
    }
    needed
}
