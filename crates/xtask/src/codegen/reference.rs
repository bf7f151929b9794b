//! `docs/ops.md`: the reference page of all ops.

use super::MARKER;
use super::source::{File, Function, Op, Ops, first_paragraph};
use crate::tree::Source;

/// The one page.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    let mut text = format!("<!-- {MARKER} -->\n\n# All ops\n\n");
    text += "By family, with the functions that make them. Each op is one file, named here.\n";
    for family in std::iter::once(&ops.structural).chain(&ops.families) {
        text += &format!("\n## {}\n", family.name);
        let documented =
            family.files.iter().filter(|file| !file.functions.is_empty() || !file.ops.is_empty());
        for file in documented {
            text += &entry(file);
        }
    }
    Ok(vec![Source { path: "docs/ops.md".to_string(), text }])
}

fn entry(file: &File) -> String {
    let mut text = format!("\n### [`{}`](../{})\n", file.name.trim_end_matches('_'), file.path);
    for function in &file.functions {
        text += &format!("\n```rust\n{}\n```\n\n{}\n", signature(function), function.summary());
    }
    for op in &file.ops {
        text += &format!("\n{}\n", about(op));
        for (name, ty, doc) in &op.attributes {
            let about = first_paragraph(doc);
            let dash = if about.is_empty() { "" } else { " — " };
            text += &format!("- `{name}: {ty}`{dash}{about}\n");
        }
    }
    text
}

fn about(op: &Op) -> String {
    let gradient = match op.gradient {
        Some(gradient) => format!("; gradient: {gradient}"),
        None => String::new(),
    };
    let attributes = if op.attributes.is_empty() { "" } else { "; attributes:\n" };
    format!("Op `{}`{gradient}{attributes}", op.name)
}

fn signature(function: &Function) -> String {
    let params: Vec<String> =
        function.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let output = match function.output.as_str() {
        "" => String::new(),
        output => format!(" -> {output}"),
    };
    format!("fn {}{}({}){output}", function.name, function.generics, params.join(", "))
}
