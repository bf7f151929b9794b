//! `crates/testkit/tests/battery.rs`: the names of the battery's tests, one for each op.

use super::MARKER;
use super::source::Ops;
use crate::tree::Source;

/// The one file.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    let mut text = format!("//! The battery, one test for each op. {MARKER}\n\n");
    text += "use fluvial_testkit::battery::check_op;\n";
    for family in std::iter::once(&ops.structural).chain(&ops.families) {
        for op in family.files.iter().flat_map(|file| &file.ops) {
            let test = format!("{}_{}", family.name, op.name);
            text += &format!("\n#[test]\nfn {test}() {{\n    check_op(\"{}\");\n}}\n", op.name);
        }
    }
    Ok(vec![Source { path: "crates/testkit/tests/battery.rs".to_string(), text }])
}
