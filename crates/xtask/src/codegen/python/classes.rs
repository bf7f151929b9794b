//! `python/fluvial/nn/_generated.py`: the classes of the stated layers.

use super::super::source::{Ops, first_paragraph};
use super::super::stated::{Entry, Layer, LayerFile, LayerOption};
use super::super::{MARKER, layout};
use super::param::Kind;
use crate::tree::Source;

const HEAD: &str = "\
from __future__ import annotations

from ._stated import Recurrent, Stated, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Sequence
    from typing import Any, overload

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor
    from ._parameter import Buffer, Parameter
";

/// The one file.
pub fn generate(ops: &Ops, files: &[LayerFile]) -> Result<Vec<Source>, String> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut text = format!("\"\"\"The layers. {MARKER}\"\"\"\n\n{HEAD}");
    let mut names = Vec::new();
    for (file, layer) in files.iter().flat_map(|f| f.layers().map(move |l| (f, l))) {
        let fault = |what: String| format!("{}: `{}`: {what}", file.path, layer.head.rust_name);
        text += &class(ops, &layer).map_err(fault)?;
        names.push(layer.head.name.clone());
        let other = std::iter::once(&layer.head.rust_name).chain(&layer.head.aliases);
        let others: Vec<&String> = other.filter(|name| **name != layer.head.name).collect();
        for other in &others {
            text += &format!("\n\n{other} = {}", layer.head.name);
        }
        text += if others.is_empty() { "" } else { "\n" };
        names.extend(others.into_iter().cloned());
    }
    names.sort();
    let names: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    text += &format!("\n\n__all__ = [\n{names}]\n");
    Ok(vec![Source { path: "python/fluvial/nn/_generated.py".to_string(), text }])
}

/// An argument of the constructor.
struct Argument {
    name: String,
    others: Vec<String>,
    annotation: String,
    default: Option<String>,
    doc: String,
    /// Whether it is an attribute of the layer.
    is_attribute: bool,
}

fn arguments(ops: &Ops, layer: &Layer<'_>) -> Result<Vec<Argument>, String> {
    let plain = |name: &str, annotation: &str, default: &str, doc: &str| Argument {
        name: name.to_string(),
        others: Vec::new(),
        annotation: annotation.to_string(),
        default: Some(default.to_string()),
        doc: doc.to_string(),
        is_attribute: false,
    };
    let mut arguments = Vec::new();
    for name in &layer.group.values {
        let doc = if name == "pos_weight" { "The weight of positive targets." } else { WEIGHT };
        let value = plain(name, "Tensor | None", "None", doc);
        arguments.push(Argument { is_attribute: true, ..value });
    }
    for option in layer.options() {
        arguments.push(of_option(ops, layer, option)?);
    }
    for name in &layer.group.attrs {
        let of = name.trim_end_matches("_attr");
        let more = if of == "bias" { "; False leaves it out" } else { "" };
        arguments.push(plain(
            name,
            "AttrLike",
            "None",
            &format!("What is said of the {of}{more}."),
        ));
    }
    let group = layer.group;
    if !group.parts.is_empty() || !group.attrs.is_empty() || !group.layers.is_empty() {
        let doc = "The element type of the parameters.";
        arguments.push(plain("dtype", "DTypeLike", "\"float32\"", doc));
    }
    arguments.push(plain("name", "str | None", "None", "The layer's name."));
    Ok(arguments)
}

const WEIGHT: &str = "The weight of each class or element.";

fn of_option(ops: &Ops, layer: &Layer<'_>, option: &LayerOption) -> Result<Argument, String> {
    let field = &option.field;
    if field.ty == "Function" {
        let default = field.value.trim_start_matches("Function::").trim_end_matches("()");
        return Ok(Argument {
            name: field.name.clone(),
            others: option.others.clone(),
            annotation: "str | Callable[[Tensor], Tensor]".to_string(),
            default: Some(format!("\"{default}\"")),
            doc: first_paragraph(&field.doc),
            is_attribute: false,
        });
    }
    let kind = Kind::of(ops, &field.ty)?;
    let default = match field.value.as_str() {
        "" => None,
        value => {
            let stated = kind.stated_default(ops, field);
            Some(stated.ok_or_else(|| format!("codegen does not know the default `{value}`"))?.1)
        }
    };
    let annotation = match kind {
        Kind::OwnSizes | Kind::OwnInts => "int | Sequence[int]",
        Kind::PerAxis
            if layer.group.options.iter().any(|o| o.field.name == "same")
                && field.name == "padding" =>
        {
            "int | Sequence[int] | str"
        }
        Kind::PerAxis if default.as_deref() != Some("None") => "int | Sequence[int]",
        Kind::OwnFloats => "float | Sequence[float] | None",
        kind => kind.annotation(),
    };
    Ok(Argument {
        name: field.name.clone(),
        others: option.others.clone(),
        annotation: annotation.to_string(),
        default,
        doc: super::param::with_words(ops, &field.ty, first_paragraph(&field.doc)),
        is_attribute: layer.group.parts.iter().all(|part| part.name != field.name),
    })
}

fn class(ops: &Ops, layer: &Layer<'_>) -> Result<String, String> {
    let arguments = arguments(ops, layer)?;
    let base = layer.head.base.as_deref().unwrap_or("Stated");
    let mut text = format!("\n\nclass {}({base}):\n", layer.head.name);
    let shown = arguments.iter().map(|argument| {
        let also = match &argument.others[..] {
            [] => String::new(),
            others => format!(" Also `{}`.", others.join("`, `")),
        };
        (argument.name.clone(), format!("{}{also}", argument.doc))
    });
    text += &docstring(&layer.head.doc, &shown.collect::<Vec<_>>());
    text += &format!("\n    _kind = \"{}\"\n\n    if TYPE_CHECKING:\n", layer.head.name);
    for part in &layer.group.parts {
        let (kind, may) = match part.kind.as_str() {
            "Option" => ("Parameter", " | None"),
            "Buffer" => ("Buffer", ""),
            _ => ("Parameter", ""),
        };
        text += &format!("        {}: {kind}{may}\n", part.name);
    }
    for within in layer.layers() {
        let kind = match within.kind.as_str() {
            "Function" => "Callable[[Tensor], Tensor]",
            layer => layer,
        };
        text += &format!("        {}: {kind}\n", within.name);
    }
    for argument in arguments.iter().filter(|argument| argument.is_attribute) {
        for name in std::iter::once(&argument.name).chain(&argument.others) {
            text += &format!("        {name}: {}\n", argument.annotation);
        }
    }
    if arguments.iter().any(|argument| !argument.others.is_empty()) {
        text += "\n        @overload\n";
        text += &constructor(&arguments, |argument| &argument.name);
        text += "        @overload\n";
        text +=
            &constructor(&arguments, |argument| argument.others.first().unwrap_or(&argument.name));
        text += "        def __init__(self, *values: Any, **options: Any) -> None: ...\n";
    } else {
        text += "\n";
        text += &constructor(&arguments, |argument| &argument.name);
    }
    let (inputs, output) = layer.call();
    let output = output.replace('(', "tuple[").replace(')', "]");
    let forward = |named: fn(&Entry) -> &String| {
        let inputs = inputs.iter().map(|input| {
            let name = named(input);
            match input.kind.as_str() {
                "Option" => format!("{name}: Tensor | None = None"),
                "Pair" => format!("{name}: tuple[Tensor, Tensor] | None = None"),
                "Sizes" => format!("{name}: Sequence[int] | None = None"),
                "Off" => format!("{name}: builtins.bool = False"),
                "On" => format!("{name}: builtins.bool = True"),
                _ => format!("{name}: Tensor"),
            }
        });
        let inputs: Vec<String> = std::iter::once("self".to_string()).chain(inputs).collect();
        format!("        def forward({}) -> {output}: ...\n", inputs.join(", "))
    };
    if inputs.iter().all(|input| input.others.is_empty()) {
        return Ok(text + "\n" + &forward(|input| &input.name));
    }
    text += "\n        @overload\n";
    text += &forward(|input| &input.name);
    text += "        @overload\n";
    text += &forward(|input| input.others.first().unwrap_or(&input.name));
    Ok(text + &format!("        def forward(self, *inputs: Any, **named: Any) -> {output}: ...\n"))
}

fn constructor(arguments: &[Argument], named: fn(&Argument) -> &String) -> String {
    let mut text = "        def __init__(\n            self,\n".to_string();
    for argument in arguments {
        let (name, annotation) = (named(argument), &argument.annotation);
        text += &match &argument.default {
            Some(default) => format!("            {name}: {annotation} = {default},\n"),
            None => format!("            {name}: {annotation},\n"),
        };
    }
    text + "        ) -> None: ...\n"
}

/// What the documentation in Rust says, the arguments, and the example in Python.
pub fn docstring(doc: &[String], arguments: &[(String, String)]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in doc.iter().take_while(|line| !line.starts_with("```")) {
        lines.push(layout::without_links(line));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.extend([String::new(), "Args:".to_string()]);
    lines.extend(arguments.iter().map(|(name, about)| format!("    {name}: {about}")));
    let example = doc.iter().skip_while(|line| line.as_str() != "```python").skip(1);
    let example: Vec<&String> = example.take_while(|line| !line.starts_with("```")).collect();
    if !example.is_empty() {
        lines.extend([String::new(), "Example:".to_string()]);
        lines.extend(example.iter().map(|line| format!("    {line}")));
    }
    let mut text = format!("    \"\"\"{}\n", lines[0]);
    for line in &lines[1..] {
        text += format!("    {line}").trim_end();
        text += "\n";
    }
    text + "    \"\"\"\n"
}
