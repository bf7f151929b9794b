//! Computes now what does not depend on inputs and states.

use fluvial_core::structural::Constant;
use fluvial_core::{Block, Call, NewValues, OpRef, Result, Rewrite, Type, Value, interrupt};
use smallvec::SmallVec;

use super::is_pure;
use crate::driver::Patches;

/// A constant larger than this, and larger than what it is computed from, is computed at run time: a
/// program should not grow from `zeros([1000, 1000])`.
const MAX_BYTES: usize = 1 << 12;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    block.rewrite(|on, _, call| {
        if !is_pure(call) || call.inputs.is_empty() || !patches.allowed() {
            return Ok(None);
        }
        let folded = fold(on, call, block);
        if folded.is_some() {
            patches.add(call.loc, || format!("computed `{}`", call.op.name()));
        }
        Ok(folded)
    })
}

/// The outputs of the call as constants, if its inputs are; an op that fails is left to fail at run time.
fn fold(on: &mut Rewrite, call: &Call, block: &Block) -> Option<NewValues> {
    if call.op.properties().random || !call.op.blocks().is_empty() {
        return None;
    }
    let inputs: SmallVec<[Value; 4]> = call
        .inputs
        .iter()
        .map(|&id| on.constant(id).map(|tensor| tensor.clone().into()))
        .collect::<Option<_>>()?;
    let types = block.output_types(call);
    let bytes_of = |ty: &Type| ty.numel().filter(|_| !ty.is_list()).map(|n| n * ty.dtype().size());
    let given: usize = inputs.iter().filter_map(|value| bytes_of(&value.ty())).sum();
    let made: usize = types.iter().map(bytes_of).sum::<Option<usize>>()?;
    if made > MAX_BYTES.max(given) {
        return None;
    }
    let _whole = interrupt::hear(false);
    let outputs = call.op.eval(&inputs.iter().collect::<SmallVec<[&Value; 4]>>(), types).ok()?;
    let constants: Option<Vec<Constant>> = outputs
        .iter()
        .zip(types)
        .map(|(value, ty)| {
            let value = value.tensor().ok()?.contiguous().ok()?;
            (value.ty() == *ty).then_some(Constant { value })
        })
        .collect();
    let constants = constants.filter(|constants| constants.len() == types.len())?;
    let mut ids = NewValues::new();
    for (constant, ty) in constants.into_iter().zip(types) {
        ids.extend(on.push(OpRef::new(constant), &[], &[*ty], call.loc));
    }
    Some(ids)
}
