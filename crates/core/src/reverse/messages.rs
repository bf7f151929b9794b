//! Messages of tasks carry no gradient: a walk that would lose one on the way is refused.

use fluvial_tensor::{Error, Loc, Result};
use smallvec::SmallVec;

use super::program::{Listing, passes};
use crate::block::Block;
use crate::op::OpRef;
use crate::trace::with_frames;

impl Listing {
    /// Refuses outputs that depend on what comes from tasks, if something that depends on the wanted values goes to them.
    /// Which message is which, only the run knows.
    pub(super) fn refuse_messages(&self, loc: Loc) -> Result<()> {
        with_frames(|frames| {
            let calls =
                || self.calls.iter().map(|&(level, index)| (level, &frames[level].calls[index]));
            let comes = calls().find(|(level, call)| {
                let is_reached = |&id| self.reached[self.slot_of(*level, id)];
                is_of_tasks(&call.op) && call.outputs.iter().any(is_reached)
            });
            let Some((_, comes)) = comes else { return Ok(()) };
            let goes = calls().find(|(level, call)| {
                let depends = call.inputs.iter().map(|&id| self.depends[self.slot_of(*level, id)]);
                sends(&call.op, &depends.collect::<SmallVec<[bool; 8]>>())
            });
            let Some((_, goes)) = goes else { return Ok(()) };
            let what = "this gradient may pass a message of a task, and messages carry no gradient";
            Err(Error::gradient(what)
                .note(format!("what depends on it goes to a task by `{}` at {}", goes.op.name(), goes.loc))
                .note(format!("what it is taken of comes from one by `{}` at {}", comes.op.name(), comes.loc))
                .remedy("take the gradient inside the task; send `x.detach()`, or compute it under `no_grad`")
                .at(loc))
        })
    }
}

fn is_of_tasks(op: &OpRef) -> bool {
    op.is_of_tasks() || op.blocks().iter().any(|block| block.has_tasks())
}

/// Whether one of the inputs that are marked may leave as a message.
fn sends(op: &OpRef, depends: &[bool]) -> bool {
    if !depends.contains(&true) || !is_of_tasks(op) {
        return false;
    }
    match &op.blocks()[..] {
        [body] if op.is_of_tasks() && body.n_params == depends.len() => body_sends(body, depends),
        _ => true,
    }
}

/// Whether a task that is given these inputs sends what depends on the marked ones, or returns it.
fn body_sends(body: &Block, params: &[bool]) -> bool {
    let mut depends = vec![false; body.types.len()];
    depends[..params.len()].copy_from_slice(params);
    for call in &body.calls {
        let inputs: SmallVec<[bool; 8]> =
            call.inputs.iter().map(|&id| depends[id as usize]).collect();
        if sends(&call.op, &inputs) {
            return true;
        }
        let passed = passes(&call.op) && inputs.contains(&true);
        for id in call.outputs() {
            depends[id as usize] = passed && body.types[id as usize].is_inexact();
        }
    }
    body.results.iter().any(|&id| depends[id as usize])
}
