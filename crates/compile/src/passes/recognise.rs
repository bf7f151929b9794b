//! Finds what was written with small ops and is one op.

use std::collections::BTreeMap;

use fluvial_core::{Block, Call, DType, Look, NewValues, Result, Rewrite, Type, ValueId};
use fluvial_ops::FORMS;

use super::{dead, is_pure};
use crate::driver::Patches;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    let wanted = uses(block);
    let mut uses = Uses(wanted[..block.n_params].to_vec());
    // What a spelling leaves behind, and would stay since it may fail.
    let mut left: Vec<ValueId> = Vec::new();
    let written = block.rewrite(|on, index, call| {
        let types = block.output_types(call);
        let is_used = block.calls[index].outputs().any(|id| wanted[id as usize] > 0);
        let found = match is_used && patches.allowed() {
            true => find(on, call, types, &mut uses, &mut left),
            false => None,
        };
        let outputs: NewValues = match found {
            Some((name, value)) => {
                patches.add(call.loc, || format!("found `{name}`"));
                NewValues::from_slice(&[value])
            }
            None => on.push_like(call, &call.inputs, types),
        };
        for (old, &new) in block.calls[index].outputs().zip(&outputs) {
            *uses.of(new) += wanted[old as usize];
        }
        Ok(Some(outputs))
    })?;
    match left.is_empty() {
        true => Ok(written),
        false => {
            let failing = written.failing_calls();
            let stays =
                |index: usize| failing[index] && !left.contains(&written.calls[index].first_output);
            let needed = dead::needed(&written, &stays);
            written.select(&[], |index| needed[index])
        }
    }
}

/// How often each value is used by results and by calls that matter.
fn uses(block: &Block) -> Vec<usize> {
    let mut uses = vec![0; block.types.len()];
    block.results.iter().for_each(|&id| uses[id as usize] += 1);
    for call in block.calls.iter().rev() {
        if !is_pure(call) || call.outputs().any(|id| uses[id as usize] > 0) {
            call.inputs.iter().for_each(|&id| uses[id as usize] += 1);
        }
    }
    uses
}

/// By value: how often it is used in what the block becomes.
struct Uses(Vec<usize>);

impl Uses {
    fn of(&mut self, value: ValueId) -> &mut usize {
        let at = value as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        &mut self.0[at]
    }
}

/// A number that no value has.
const LAST: ValueId = ValueId::MAX - 1;

/// Keeps the spelling of what was written as `value`, the last of the values from `first` on.
fn remember(on: &mut Rewrite, value: ValueId, first: usize, gone: &[Call], call: &Call, ty: Type) {
    let Some(written) = on.producer(value) else { return };
    if value as usize + 1 != on.n_values() || written.inputs.iter().any(|&id| id as usize >= first)
    {
        return;
    }
    let inputs = written.inputs.clone();
    let is_inside = |id| gone.iter().any(|call| call.outputs().contains(&id));
    let outs: Vec<[Type; 1]> = gone.iter().map(|call| [*on.ty(call.first_output)]).collect();
    let mut calls: Vec<(&Call, &[Type])> =
        gone.iter().zip(&outs).map(|(call, outs)| (call, &outs[..])).collect();
    let ty = [ty];
    // The number of the call itself is one of the old block; the others have new ones.
    let last = Call { first_output: LAST, ..call.clone() };
    calls.push((&last, &ty));
    let resolve = |id| (!is_inside(id)).then_some(id);
    let twin = on.twin(&inputs, &calls, &[LAST], &BTreeMap::new(), &resolve);
    on.set_twin(twin);
}

/// Writes the op that a call is the end of a spelling of, if none of the values between is used elsewhere.
fn find(
    on: &mut Rewrite,
    call: &Call,
    types: &[Type],
    uses: &mut Uses,
    left: &mut Vec<ValueId>,
) -> Option<(&'static str, ValueId)> {
    let &[ty] = types else { return None };
    if !matches!(ty.dtype(), DType::F32 | DType::F64) || ty.is_list() {
        return None;
    }
    let ends_here = FORMS.iter().filter(|form| form.ends.contains(&call.op.name()));
    for form in ends_here {
        let mut look = Look::new(on);
        let Some(write) = (form.find)(&mut look, call) else { continue };
        let mut passed = look.passed().to_vec();
        passed.sort_unstable();
        passed.dedup();
        let gone: Vec<Call> = passed.iter().filter_map(|&id| on.producer(id).cloned()).collect();
        let inner = |value: ValueId| {
            let inputs = gone.iter().chain([call]).flat_map(|call| &call.inputs);
            inputs.filter(|&&input| input == value).count()
        };
        let is_free = passed.iter().all(|&id| *uses.of(id) == inner(id));
        if !is_free || gone.iter().any(|call| !is_pure(call) || call.n_outputs != 1) {
            continue;
        }
        let first = on.n_values();
        // Where the op does not take what the small ones took, they stay.
        let Ok(value) = write(on) else { continue };
        if *on.ty(value) != ty {
            continue;
        }
        for input in gone.iter().chain([call]).flat_map(|call| &call.inputs) {
            *uses.of(*input) -= 1;
        }
        for written in (first..on.n_values()).filter_map(|id| on.producer(id as ValueId)) {
            written.inputs.iter().for_each(|&input| *uses.of(input) += 1);
        }
        // The op fails where the small ones would have.
        let mut new = (first..on.n_values()).filter_map(|id| on.producer(id as ValueId));
        let fails = |call: &Call| {
            let types: Vec<&Type> = call.inputs.iter().map(|&id| on.ty(id)).collect();
            call.op.fails(&types).is_some()
        };
        if new.any(fails) {
            left.extend(passed.iter().copied().filter(|&id| on.producer(id).is_some()));
        }
        remember(on, value, first, &gone, call, ty);
        return Some((form.name, value));
    }
    None
}
