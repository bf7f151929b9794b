//! The table of exporters: one entry for each op of ours that can be written.

use fluvial_core::Result;

use super::{Node, Writer, control, elementwise, lists, net, quant, reduce, shape};

/// Writes the nodes of a call, and returns the names of its outputs.
pub type Export = fn(&mut Writer, &Node<'_>) -> Result<Vec<String>>;

const TABLE: &[&[(&str, Export)]] = &[
    control::BRANCHES,
    control::LOOPS,
    elementwise::OPS,
    lists::OPS,
    net::OPS,
    quant::OPS,
    reduce::OPS,
    shape::OPS,
];

/// How an op is written.
pub fn find(name: &str) -> Option<Export> {
    let all = TABLE.iter().copied().flatten();
    all.into_iter().find(|(known, _)| *known == name).map(|(_, export)| *export)
}

/// Whether the op takes lists that are not sequences yet.
pub fn knows_lists(name: &str) -> bool {
    lists::OPS.iter().chain(control::LOOPS).any(|(known, _)| *known == name)
}

/// The names of the ops that can be written, in order.
pub fn exported() -> Vec<&'static str> {
    let mut all: Vec<&str> = TABLE.iter().copied().flatten().map(|(name, _)| *name).collect();
    all.extend(["read", "assign"]);
    all.sort_unstable();
    all
}
