//! What is told of calls that may fail as they are appended, so that runs which fail there can be followed.

use std::cell::RefCell;
use std::rc::Rc;

use fluvial_tensor::{Loc, Result, Type};
use smallvec::SmallVec;

use super::frame::{FrameKind, Noted};
use super::{left, localise, nothing_is_built, with_frames};
use crate::op::OpRef;
use crate::scope;
use crate::var::Var;

/// Told of each call that may fail, before it is appended: the op, the types of its inputs, and the user's line.
/// It may append calls and notes itself.
pub type FaultHook = Rc<dyn Fn(&OpRef, &[&Type], Loc) -> Result<()>>;

thread_local! {
    static HOOK: RefCell<Option<FaultHook>> = const { RefCell::new(None) };
}

/// Has `hook` be told of calls of this thread that may fail. Gives the former one.
pub fn on_fault(hook: Option<FaultHook>) -> Option<FaultHook> {
    HOOK.replace(hook)
}

/// Puts a hook back when dropped.
struct PutBack(Option<FaultHook>);

impl Drop for PutBack {
    fn drop(&mut self) {
        HOOK.set(self.0.take());
    }
}

/// Tells the hook of a call, if the call may fail and stands in a program. Ops that own blocks fail inside.
pub(super) fn tell(op: &OpRef, inputs: &[&Var], loc: Loc) -> Result<()> {
    if HOOK.with_borrow(Option::is_none) || !op.blocks().is_empty() {
        return Ok(());
    }
    let types: SmallVec<[Type; 4]> = inputs.iter().map(|var| var.ty()).collect();
    let types: SmallVec<[&Type; 4]> = types.iter().collect();
    if op.fails(&types).is_none() || !in_program() {
        return Ok(());
    }
    // What the hook appends is not told to it.
    let Some(hook) = HOOK.take() else { return Ok(()) };
    let _put_back = PutBack(Some(hook.clone()));
    left::note()?;
    hook(op, &types, loc)
}

/// Whether the block on top is one of a program that a run will execute in its place.
fn in_program() -> bool {
    let is_part = |kind: &FrameKind| matches!(kind, FrameKind::Program(_) | FrameKind::Nested);
    with_frames(|frames| {
        let program = frames.iter().rposition(|frame| matches!(frame.kind, FrameKind::Program(_)));
        program.is_some_and(|first| frames[first..].iter().all(|frame| is_part(&frame.kind)))
    })
}

/// Says in the block being built that `name` stands for this value from here on, for runs that fail further on.
/// The name is none of a state: it begins with "@".
pub fn note_value(name: &str, value: &Var) -> Result<()> {
    let loc = scope::user_line();
    let id = localise(value, loc)?;
    with_frames(|frames| {
        let frame = frames.last_mut().ok_or_else(nothing_is_built)?;
        let (at, loc) = (frame.calls.len(), scope::marked(loc));
        frame.notes.push(Noted { at, state: name.into(), value: id, loc });
        Ok(())
    })
}
