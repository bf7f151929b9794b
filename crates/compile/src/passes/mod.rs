//! The passes, one file each.

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

/// Whether a call may be removed, repeated and moved.
pub(crate) fn is_pure(call: &Call) -> bool {
    !call.op.properties().effect
}
