//! The passes, one file each.

pub(crate) mod carried;
pub(crate) mod common;
pub(crate) mod dead;
pub(crate) mod epilogues;
pub(crate) mod fold;
pub(crate) mod fuse;
pub(crate) mod hoist;
pub(crate) mod order;
pub(crate) mod recognise;
pub(crate) mod reductions;
pub(crate) mod scales;
pub(crate) mod simplify;
pub(crate) mod states;

use fluvial_core::Call;
use fluvial_core::structural::Note;

/// Whether a call only computes its outputs: it may be repeated, moved, and, unless it may fail, removed.
pub(crate) fn is_pure(call: &Call) -> bool {
    !call.op.properties().effect && call.op.downcast::<Note>().is_none()
}
