//! Which values of a block are batched, given which parameters are; or why the block cannot be batched call by call.

use crate::batch::Randomness;
use crate::control::{Checkpoint, Cond, While};
use crate::lists::{ListGet, ListLen, ListNew, ListPush, ListSet};
use crate::prelude::*;

/// Why a block is run element by element: an op that cannot be batched, and its line.
pub(crate) type Refused = (&'static str, Loc);

/// By value of the block: whether it is batched.
pub(crate) fn spread(
    block: &Block,
    params: &[bool],
    randomness: Randomness,
) -> std::result::Result<Vec<bool>, Refused> {
    spread_with(block, params, randomness, 0)
}

/// The same of a block whose first parameters are carried: lists among them may become batched, which is looked at where
/// they begin.
fn spread_with(
    block: &Block,
    params: &[bool],
    randomness: Randomness,
    n_carried: usize,
) -> std::result::Result<Vec<bool>, Refused> {
    let mut flags = params.to_vec();
    flags.resize(block.types.len(), false);
    let mut empty: Vec<ValueId> = (0..n_carried as ValueId).collect();
    for call in &block.calls {
        let own: SmallVec<[bool; 8]> = call.inputs.iter().map(|&id| flags[id as usize]).collect();
        if call.op.downcast::<ListNew>().is_some() {
            empty.push(call.first_output);
        }
        // A list that has no elements yet can have batched ones from here on.
        let can_grow = |i: usize| {
            let id = call.inputs[i];
            own[i] || empty.contains(&id) || !block.types[id as usize].is_list()
        };
        let found = outputs(block, call, &own, randomness, &can_grow)?;
        for (id, flag) in call.outputs().zip(found) {
            flags[id as usize] = flag;
        }
    }
    Ok(flags)
}

/// By output of a call: whether it is batched; or what cannot be.
fn outputs(
    block: &Block,
    call: &Call,
    own: &[bool],
    randomness: Randomness,
    can_grow: &dyn Fn(usize) -> bool,
) -> std::result::Result<Vec<bool>, Refused> {
    let refused = || (call.op.name(), call.loc);
    let if_fine = |fine: bool| if fine { Ok(()) } else { Err(refused()) };
    if let Some(op) = call.op.downcast::<While>() {
        let (carried, results) = of_loop(op, own, randomness)?;
        let grows = |i: usize| carried[i] && !own[1 + i];
        if_fine((0..op.n_carried).all(|i| !grows(i) || can_grow(1 + i)))?;
        let by_rows = own[0] || results[0];
        let lists = (1..call.inputs.len()).any(|i| is_list(block, call, i));
        if_fine(!by_rows || (call.n_outputs == op.n_carried && !lists))?;
        let mut all = carried;
        if call.n_outputs > op.n_carried {
            all.push(false);
            all.extend(results.into_iter().skip(1 + op.n_carried));
        }
        return Ok(all);
    }
    if let Some(op) = call.op.downcast::<Cond>() {
        let of_branch = |block: &Block| -> std::result::Result<Vec<bool>, Refused> {
            let flags = spread(block, &own[1..], randomness)?;
            Ok(block.results.iter().map(|&id| flags[id as usize]).collect())
        };
        let (then, otherwise) = (of_branch(&op.branches[0])?, of_branch(&op.branches[1])?);
        let types = block.output_types(call);
        let lists = (1..call.inputs.len()).any(|i| is_list(block, call, i))
            || types.iter().any(Type::is_list);
        if_fine(!own[0] || !lists)?;
        // A list that a branch gives as it got it cannot be batched behind the other one.
        if_fine((0..op.n_results).all(|i| !types[i].is_list() || then[i] == otherwise[i]))?;
        let mut all: Vec<bool> =
            (0..op.n_results).map(|i| own[0] || then[i] || otherwise[i]).collect();
        for list in &op.lists {
            all.push(if list[0] == 0 { then[list[1]] } else { otherwise[list[1]] });
        }
        return Ok(all);
    }
    if let Some(op) = call.op.downcast::<Checkpoint>() {
        let flags = spread(&op.block, own, randomness)?;
        return Ok(op.block.results.iter().map(|&id| flags[id as usize]).collect());
    }
    let draws = call.op.properties().random && randomness == Randomness::Different;
    if !draws && !own.contains(&true) {
        return Ok(vec![false; call.n_outputs]);
    }
    if is_count(call) {
        return Ok(vec![false]);
    }
    let types: Vec<Type> = block.input_types(call).into_iter().copied().collect();
    let outs = call.op.infer(&types.iter().collect::<Vec<_>>()).map_err(|_| refused())?;
    let is_open =
        |ty: &Type| !ty.is_list() && ty.dims().iter().any(|dim| dim.fresh_index().is_some());
    if_fine(call.op.blocks().is_empty() && !outs.iter().any(is_open))?;
    let sets = call.op.downcast::<ListSet>().is_some();
    let placed = sets || call.op.downcast::<ListGet>().is_some();
    let takes_lists = sets || call.op.downcast::<ListPush>().is_some();
    for (i, &is_batched) in own.iter().enumerate() {
        // A batched place in a list is another element for each; a list without a batch stays one.
        let ungrown = is_list(block, call, i) && !is_batched;
        if_fine(!(placed && i == 1 && is_batched))?;
        if_fine(!ungrown || (takes_lists && can_grow(i)))?;
    }
    Ok(vec![true; call.n_outputs])
}

/// Whether a call asks how many elements a list has, which is the same for the whole batch.
pub(crate) fn is_count(call: &Call) -> bool {
    call.op.downcast::<ListLen>().is_some()
}

fn is_list(block: &Block, call: &Call, i: usize) -> bool {
    block.types[call.inputs[i] as usize].is_list()
}

/// Of a loop, by carried value and by result of the body: whether it is batched.
pub(crate) fn of_loop(
    op: &While,
    inputs: &[bool],
    randomness: Randomness,
) -> std::result::Result<(Vec<bool>, Vec<bool>), Refused> {
    let n = op.n_carried;
    let mut carried = inputs[1..=n].to_vec();
    loop {
        let params: Vec<bool> = carried.iter().chain(&inputs[1 + n..]).copied().collect();
        let flags = spread_with(&op.body, &params, randomness, n)?;
        let results: Vec<bool> = op.body.results.iter().map(|&id| flags[id as usize]).collect();
        let by_rows = inputs[0] || results[0];
        let next = |i: usize| {
            let is_same = op.body.results[1 + i] == i as ValueId;
            carried[i] || results[1 + i] || (by_rows && !is_same)
        };
        let next: Vec<bool> = (0..n).map(next).collect();
        if next == carried {
            return Ok((carried, results));
        }
        carried = next;
    }
}
