//! What backward passes inside of a program have freed, as the lines would find it: a second pass through it is an error,
//! inside of the program and behind it.

use fluvial_tensor::{Error, Loc, Result};

use super::close::{Closed, Traced};
use super::frame::Frame;
use super::{symbol_of, with_frames};
use crate::grad::Grad;
use crate::op::OpRef;
use crate::tape::{Edge, Node};
use crate::var::{Repr, Var};

/// An op that a backward pass inside of a program has passed, and freed.
#[derive(Clone)]
pub struct FreedBy {
    op: OpRef,
    loc: Loc,
}

impl FreedBy {
    /// The value with a history that is freed, if it has one.
    pub fn mark(&self, var: &Var) -> Var {
        let (Repr::Value(value), Some(edge)) = (&var.0.repr, &var.0.edge) else {
            return var.clone();
        };
        let node = Node::freed(self.op.clone(), self.loc, var.ty(), edge.node.seq);
        Var::with_edge(value.clone(), Some(Edge { node: node.into(), out: 0 }))
    }
}

/// What a backward pass of the program being built has freed, perhaps, behind a value of its main block.
pub fn freed_behind(var: &Var) -> Option<FreedBy> {
    let symbol = symbol_of(var).filter(|symbol| !symbol.constant)?;
    with_frames(|frames| {
        let frame = frames.iter().find(|frame| frame.id == symbol.frame)?;
        if frame.freed.is_empty() {
            return None;
        }
        let mut reached = vec![false; frame.types.len()];
        reached[symbol.id as usize] = true;
        for (index, call) in frame.calls.iter().enumerate().rev() {
            let outputs: Vec<bool> = call.outputs.iter().map(|&id| reached[id as usize]).collect();
            if !outputs.contains(&true) || matches!(call.op.grad(), Grad::Stop) {
                continue;
            }
            if frame.freed.contains_key(&(frame.id, index)) {
                return Some(FreedBy { op: call.op.clone(), loc: call.loc });
            }
            let inputs = call.op.reaches(&outputs);
            for (i, &id) in call.inputs.iter().enumerate() {
                let is_reached = inputs.as_ref().is_none_or(|inputs| inputs.get(i) != Some(&false));
                reached[id as usize] |= is_reached && frame.types[id as usize].is_inexact();
            }
        }
        None
    })
}

/// Whether a call was freed: in any run, or perhaps.
pub(crate) fn is_freed(frames: &[Frame], level: usize, index: usize) -> Option<bool> {
    let key = (frames[level].id, index);
    frames[level..].iter().filter_map(|frame| frame.freed.get(&key).copied()).max()
}

/// Notes what blocks have freed of the block that they stand in, and of those around it: only the run knows whether it gets
/// there. Returns where a call from outside was freed first.
pub(super) fn hand_on(parts: &[Traced]) -> Option<Loc> {
    with_frames(|frames| {
        let mut first = None;
        for part in parts {
            for &(frame, index) in part.frame.freed.keys() {
                let Some(level) = frames.iter().position(|below| below.id == frame) else {
                    continue;
                };
                let loc = frames[level].calls.get(index).map_or(Loc::Unknown, |call| call.loc);
                first = first.or(Some(loc));
                if let Some(top) = frames.last_mut() {
                    top.freed.entry((frame, index)).or_insert(false);
                }
            }
        }
        first
    })
}

/// The error for a walk through what an earlier one has perhaps freed.
#[cold]
pub(crate) fn perhaps_freed(op: &str, line: Loc, loc: Loc) -> Error {
    Error::symbolic(
        "only the run knows whether an earlier backward pass has freed what this one passes",
    )
    .remedy("pass `retain_graph=True` to the earlier pass, or compute the value again")
    .note(format!("it is behind `{op}`, which was recorded at {line}"))
    .at(loc)
}

impl Closed {
    /// Refuses the body of a loop that frees what was computed before it: the second trip would find it so.
    pub(super) fn check_freed(&self) -> Result<()> {
        match self.frees {
            None => Ok(()),
            Some(loc) => Err(Error::symbolic(
                "a backward pass inside a loop frees what was computed before the loop, so that a second trip would find it freed",
            )
            .remedy("pass `retain_graph=True` to it, or compute the value inside the loop")
            .note(format!("it was computed at {loc}"))),
        }
    }
}
