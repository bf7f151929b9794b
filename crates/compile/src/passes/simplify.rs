//! Asks each op what it is in its surroundings.

use fluvial_core::{Block, Result};

use super::is_pure;
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    block.rewrite(|on, _, call| {
        if !is_pure(call) || !patches.allowed() {
            return Ok(None);
        }
        let simpler = call.op.simplify(on, &call.inputs)?;
        if simpler.is_some() {
            patches.add(call.loc, || format!("simplified `{}`", call.op.name()));
        }
        Ok(simpler)
    })
}
