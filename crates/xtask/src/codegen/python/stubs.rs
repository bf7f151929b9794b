//! `python/fluvial/_core.pyi`: the stubs written by hand in `crates/py/core.pyi`, then those of the
//! generated functions.

use super::super::MARKER;
use super::super::source::Ops;
use super::param::Param;
use super::{Output, PyFunction};
use crate::tree::Source;

/// The one file.
pub fn file(ops: &Ops, functions: &[PyFunction<'_>], methods: &[&PyFunction<'_>]) -> Source {
    let mut text = format!("# {MARKER}, from crates/py/core.pyi and the ops\n\n");
    let of_class: String = methods.iter().map(|function| method(function)).collect();
    text += &ops.stubs.replace(METHODS, &of_class);
    for function in functions {
        let output = output(function);
        text += &format!("\ndef {}({}) -> {output}:\n", function.name, function.signature(param));
        text += &format!("    \"\"\"{}\n    \"\"\"\n", docstring(function));
    }
    Source { path: "python/fluvial/_core.pyi".to_string(), text }
}

/// Stands in the stubs written by hand where the methods of the ops go.
const METHODS: &str = "    # The methods of the ops stand here.\n";

fn method(function: &PyFunction<'_>) -> String {
    let signature = function.signature(param);
    let rest = signature.split_once(", ").map_or(String::new(), |(_, rest)| format!(", {rest}"));
    format!("    def {}(self{rest}) -> {}: ...\n", function.name, output(function))
}

fn output(function: &PyFunction<'_>) -> &'static str {
    match function.output {
        Output::Nothing => "None",
        Output::One => "Tensor",
        Output::Pair => "tuple[Tensor, Tensor]",
        Output::Triple => "tuple[Tensor, Tensor, Tensor]",
        Output::Many => "list[Tensor]",
    }
}

fn param(param: &Param) -> String {
    let (name, annotation) = (&param.name, param.kind.annotation());
    match &param.default {
        Some((_, python)) => format!("{name}: {annotation} = {python}"),
        None => format!("{name}: {annotation}"),
    }
}

fn docstring(function: &PyFunction<'_>) -> String {
    let lines = function.doc();
    let indented =
        lines.iter().enumerate().map(|(i, line)| match line.trim().is_empty() || i == 0 {
            true => line.trim_end().to_string(),
            false => format!("    {line}"),
        });
    indented.collect::<Vec<_>>().join("\n")
}
