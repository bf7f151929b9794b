//! Computes once what was written twice.

use std::collections::HashMap;

use fluvial_core::structural::Constant;
use fluvial_core::{Block, Call, NewValues, OpRef, Result, ValueId};
use smallvec::SmallVec;

use super::is_pure;
use crate::driver::Patches;

/// Calls of the same name on the same values, with what stands for their outputs.
type Known = HashMap<(&'static str, SmallVec<[ValueId; 4]>), Vec<(OpRef, NewValues)>>;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let mut known = Known::new();
    block.rewrite(|on, _, call| {
        if !may_share(call) || !patches.allowed() {
            return Ok(None);
        }
        let same = known.entry((call.op.name(), call.inputs.clone())).or_default();
        // Sizes that only a run knows have other names at every call.
        let types = block.output_types(call);
        let has_types = |ids: &NewValues| ids.iter().zip(types).all(|(&id, ty)| on.ty(id) == ty);
        let found = same.iter().find(|(op, outputs)| *op == call.op && has_types(outputs));
        if let Some((_, outputs)) = found {
            patches.add(call.loc, || format!("shared `{}`", call.op.name()));
            return Ok(Some(outputs.clone()));
        }
        let outputs = on.push_like(call, &call.inputs, types);
        same.push((call.op.clone(), outputs.clone()));
        Ok(Some(outputs))
    })
}

/// Comparing large constants and blocks would cost more than it saves. An op with open sizes binds
/// symbols of its own, which others may use.
fn may_share(call: &Call) -> bool {
    let is_small = |constant: &Constant| constant.value.numel() <= 16;
    is_pure(call)
        && call.op.blocks().is_empty()
        && call.op.downcast::<Constant>().is_none_or(is_small)
}
