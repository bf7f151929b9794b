//! The passes, one file each.

pub(crate) mod common;
pub(crate) mod dead;
pub(crate) mod fold;
pub(crate) mod fuse;
pub(crate) mod hoist;
pub(crate) mod simplify;
pub(crate) mod states;

use std::sync::Arc;

use fluvial_core::{Attr, Attrs, Block, Call, OpRef, Result};

/// Whether a call may be removed, repeated and moved.
pub(crate) fn is_pure(call: &Call) -> bool {
    !call.op.properties().effect
}

/// The op with each of its blocks replaced.
pub(crate) fn map_blocks(
    op: &OpRef,
    f: &mut dyn FnMut(&Block) -> Result<Arc<Block>>,
) -> Result<OpRef> {
    let mut mapped = Attrs::new();
    for (name, attr) in op.attrs().iter() {
        mapped.push(name.to_string(), map_attr(attr, f)?);
    }
    op.rebuild(&mapped)
}

fn map_attr(attr: &Attr, f: &mut dyn FnMut(&Block) -> Result<Arc<Block>>) -> Result<Attr> {
    Ok(match attr {
        Attr::Block(block) => Attr::Block(f(block)?),
        Attr::List(items) => {
            Attr::List(items.iter().map(|item| map_attr(item, f)).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}
