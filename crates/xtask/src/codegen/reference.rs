//! `docs/ops.md`: the reference page of all ops.

use super::MARKER;
use super::layout::without_links;
use super::source::{File, Function, Op, Ops, OptionField, first_paragraph};
use crate::tree::Source;

/// The one page.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    let mut text = format!("<!-- {MARKER} -->\n\n# All ops\n\n");
    text += "By family, with the functions that make them. Each op is one file, named here.\n\n";
    for family in std::iter::once(&ops.structural).chain(&ops.families) {
        let names = family.files.iter().flat_map(|file| &file.functions);
        let names: Vec<&str> = names.map(|f| f.name.trim_end_matches('_')).collect();
        text += &format!("- **[{0}](#{0})**: {1}\n", family.name, names.join(", "));
    }
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
        let about = without_links(&function.summary());
        text += &format!("\n```rust\n{}\n```\n\n{about}\n", signature(function));
    }
    for options in &file.options {
        let kind = if options.is_choice { "one of" } else { "with" };
        text += &format!("\n`{}`, {kind}:\n", options.name);
        for OptionField { name, ty, value, doc } in &options.fields {
            let field = match options.is_choice {
                true => format!("{:?}", value),
                false => format!("{name}: {ty} = {value}"),
            };
            text += &format!("- `{field}` — {}\n", first_paragraph(doc));
        }
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
    let gradient = match &op.gradient {
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
