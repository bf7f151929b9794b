//! Versions of leaves while a program is built: a leaf that gets another value stays one, with its gradient and its hooks.

use std::sync::Arc;

use fluvial_tensor::Result;
use smallvec::SmallVec;

use super::frame::Frame;
use super::states::root;
use super::{frame_of, leaf_of, set_leaf_grad, symbol_of, with_frames};
use crate::block::ValueId;
use crate::tape::{Hook, Leaf};
use crate::var::Var;

/// A value as another version of a leaf of the program being built.
pub(crate) fn leaf_again(var: &Var, before: &Var) -> Result<Var> {
    let leaf = leaf_of(var)?;
    let (Some(old), Some(new)) = (symbol_of(before), symbol_of(&leaf)) else { return Ok(leaf) };
    let state = frame_of(&old, |frame| frame.leaf_states.get(&old.id).cloned()).flatten();
    match state {
        Some(name) => {
            frame_of(&new, |frame| frame.leaf_states.insert(new.id, name));
        }
        None => set_leaf_grad(&new, before.grad()),
    }
    Ok(leaf)
}

/// The hooks of a value: its own, and those of the leaf outside that it is a version of.
pub(crate) fn hooks_of(frames: &mut [Frame], level: usize, id: ValueId) -> Vec<Hook> {
    let frame = &frames[level];
    let mut hooks = frame.hooks.get(&id).cloned().unwrap_or_default();
    let Some(name) = frame.leaf_states.get(&id).cloned() else { return hooks };
    let Ok(root) = root(frames) else { return hooks };
    let leaf = match root.outer_leaves.get(&name) {
        Some(leaf) => leaf.clone(),
        None => match root.cell_of(&name) {
            Some((cell, _)) => cell.leaf(),
            None => return hooks,
        },
    };
    hooks.extend(leaf.hooks());
    if !root.hooked.iter().any(|(known, _)| Arc::ptr_eq(known, &leaf)) {
        let ids = leaf.hook_ids();
        root.hooked.push((leaf, ids));
    }
    hooks
}

/// The hooks on leaves and parameters that are a part of the ways back of a program.
pub struct LeafHooks(Vec<(Arc<Leaf>, SmallVec<[usize; 2]>)>);

impl LeafHooks {
    /// Those of the program being built.
    pub fn of_program() -> LeafHooks {
        LeafHooks(with_frames(|frames| {
            root(frames).map(|root| root.hooked.clone()).unwrap_or_default()
        }))
    }

    /// Whether no leaf was looked at.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the leaves have the same hooks now.
    pub fn hold(&self) -> bool {
        self.0.iter().all(|(leaf, ids)| leaf.hook_ids() == *ids)
    }
}
