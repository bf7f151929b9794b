//! `python/fluvial/_core.pyi`: the stubs written by hand in `crates/py/core.pyi`, then those of the
//! generated functions.

use super::super::MARKER;
use super::super::source::Ops;
use super::param::Param;
use super::{Output, PyFunction, names};
use crate::tree::Source;

/// The one file.
pub fn file(ops: &Ops, functions: &[PyFunction<'_>], methods: &[&PyFunction<'_>]) -> Source {
    let mut text = format!("# {MARKER}, from crates/py/core.pyi and the ops\n\n");
    let of_class: String = methods.iter().map(|function| method(function)).collect();
    text += &of_builtins(&ops.stubs.replace(METHODS, &of_class));
    for function in functions {
        let (name, output, signature) =
            (function.name, output(function), function.signature(param));
        let others = with_others(function);
        let mark = if others == signature { "" } else { "@overload\n" };
        text += &format!("\n{mark}def {name}({signature}) -> {output}:\n");
        text += &format!("    \"\"\"{}\n    \"\"\"\n", docstring(function));
        if others != signature {
            text += &format!("@overload\ndef {name}({others}) -> {output}: ...\n");
        }
    }
    Source { path: "python/fluvial/_core.pyi".to_string(), text }
}

/// The stubs with `int` and `float` in the class of tensors as those of Python: the class has methods of these names.
fn of_builtins(stubs: &str) -> String {
    let Some(start) = stubs.find("\nclass Tensor:") else { return stubs.to_string() };
    let end = stubs[start + 1..].find("\nclass ").map_or(stubs.len(), |end| start + 1 + end);
    let mut class = stubs[start..end].to_string();
    for name in ["int", "float"] {
        for before in ["[", " "] {
            for after in [" ", "]", ",", ")", ":", "\n"] {
                let annotation = format!("{before}{name}{after}");
                class = class.replace(&annotation, &format!("{before}builtins.{name}{after}"));
            }
        }
    }
    format!("{}{class}{}", &stubs[..start], &stubs[end..])
}

/// Stands in the stubs written by hand where the methods of the ops go.
const METHODS: &str = "    # The methods of the ops stand here.\n";

fn method(function: &PyFunction<'_>) -> String {
    let without_self = |signature: &str| {
        signature.split_once(", ").map_or(String::new(), |(_, rest)| format!(", {rest}"))
    };
    let own = without_self(&function.signature(param));
    let others = without_self(&with_others(function));
    let line = |rest: &str| {
        format!("    def {}(self{rest}) -> {}: ...\n", function.name, output(function))
    };
    match own == others {
        true => line(&own),
        false => format!("    @overload\n{}    @overload\n{}", line(&own), line(&others)),
    }
}

/// The parameters under the names that others have for them.
fn with_others(function: &PyFunction<'_>) -> String {
    let others = names::others(function);
    let accepted = others.iter().filter(|(_, ours)| ours.is_none());
    let accepted: String =
        accepted.map(|(other, _)| format!(", {other}: builtins.bool = False")).collect();
    let named = function.with_names(|own| {
        let other = others.iter().find(|(_, ours)| ours.as_ref() == Some(&own.name));
        named(own, other.map_or(&own.name, |(other, _)| other))
    });
    named + &accepted
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
    named(param, &param.name)
}

fn named(param: &Param, name: &str) -> String {
    let annotation = param.kind.annotation();
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
