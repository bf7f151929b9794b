//! The modules of the families, and what the crate of the ops shows at its root.

use super::source::{Family, Ops};
use super::{MARKER, layout};
use crate::tree::Source;

/// `crates/ops/src/<family>/mod.rs`.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    Ok(ops.families.iter().map(module).collect())
}

fn module(family: &Family) -> Source {
    let mut text = format!("//! The ops of the family `{}`. {MARKER}\n\n", family.name);
    for file in &family.files {
        text += &format!("pub(crate) mod {};\n", file.name);
    }
    text += "\n";
    for file in family.in_use_order().filter(|file| !file.exports.is_empty()) {
        text += &layout::use_list(&format!("pub use {}::", file.name), &file.exports);
    }
    Source { path: format!("crates/ops/src/{}/mod.rs", family.name), text }
}
