//! `crates/py/src/generated.rs`: the functions that Python calls.

use super::super::{MARKER, layout};
use super::param::{Kind, Param};
use super::{Output, PyFunction, names};
use crate::tree::Source;

/// The ops that compare, beside whose tensors a number may be any.
const COMPARISONS: [&str; 6] = ["eq", "ge", "gt", "le", "lt", "ne"];

/// The one file.
pub fn file(functions: &[PyFunction<'_>], methods: &[&PyFunction<'_>]) -> Source {
    let mut text = format!(
        "//! The functions of the ops. {MARKER}\n\n#![allow(clippy::too_many_arguments)]\n\n"
    );
    let body: String = functions.iter().map(function).collect();
    text += "use fluvial::core::Var;\nuse fluvial::ops;\nuse pyo3::prelude::*;\n\n";
    text += "use crate::sequence::{FEW, List, MANY};\nuse crate::tensor::{Step, Tensor};\n";
    let numbers = ["FloatArg", "NumberArg"].into_iter().filter(|name| body.contains(name));
    let numbers =
        layout::use_list("use crate::args::", &numbers.map(String::from).collect::<Vec<_>>());
    text = text.replace("use crate::seq", &format!("{numbers}use crate::seq"));
    let names =
        ["DTypeArg", "DimArg", "PerAxisArg", "ShapeArg", "TypeArg", "WholeArg", "WholesArg"];
    let used = names.iter().filter(|name| body.contains(**name)).map(|name| name.to_string());
    text += &layout::use_list("use crate::types::", &used.collect::<Vec<_>>());
    text += "use crate::{args, call};\n";
    text += &body;
    text += "\n/// The functions that are methods, too.\npub const METHODS: &[&str] = &[\n";
    for method in methods {
        text += &format!("    \"{}\",\n", method.name);
    }
    text += "];\n";
    text += &other_names(functions);
    text += "\npub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {\n";
    for function in functions {
        let name = item_name(function);
        text += &format!("    module.add_function(wrap_pyfunction!({name}, module)?)?;\n");
    }
    text += "    Ok(())\n}\n";
    Source { path: "crates/py/src/generated.rs".to_string(), text }
}

/// The tables of the other names of arguments.
fn other_names(functions: &[PyFunction<'_>]) -> String {
    let mut text =
        "\n/// What others call arguments, by function, with our names; an empty one is accepted \
                    without effect.\npub const OTHER_NAMES: &[(&str, &[(&str, &str)])] = &[\n"
            .to_string();
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs: Vec<String> =
            pairs.iter().map(|(other, ours)| format!("(\"{other}\", \"{ours}\")")).collect();
        pairs.join(", ")
    };
    let everywhere: Vec<(&str, &str)> = names::everywhere().collect();
    text += &format!("    (\"\", &[{}]),\n", pairs(&everywhere));
    for function in functions {
        let found = names::others(function);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(other, ours)| (*other, ours.as_deref().unwrap_or(""))).collect();
        if !found.is_empty() {
            text += &format!("    (\"{}\", &[{}]),\n", function.name, pairs(&found));
        }
    }
    text + "];\n"
}

fn function(function: &PyFunction<'_>) -> String {
    let mut text = "\n".to_string();
    for line in function.doc() {
        text += format!("/// {line}").trim_end();
        text += "\n";
    }
    let rust_name = &function.source.name;
    let item_name = item_name(function);
    let renamed = match item_name == function.name {
        true => String::new(),
        false => format!("name = \"{}\", ", function.name),
    };
    let signature = function.signature(in_signature);
    text += &format!("#[pyfunction]\n#[pyo3({renamed}signature = ({signature}))]\n");
    let is_dots = |param: &Param| {
        let is_float = param.kind == Kind::Float && param.default.is_some();
        is_float || param.field_of.is_some()
    };
    if function.params.iter().any(is_dots) {
        // Python would show the defaults of options and numbers as dots.
        let shown = function.signature(in_python).replace('"', "'");
        text += &layout::wrapped("#[pyo3(", &format!("text_signature = \"({shown})\""), ")]");
    }

    let typed = |param: &Param| format!("{}: {}", ident(param), param.kind.rust_type());
    let params: Vec<String> = std::iter::once("py: Python<'_>".to_string())
        .chain(function.params.iter().map(typed))
        .collect();
    let output = match function.output {
        Output::Nothing => "()",
        Output::One => "Tensor",
        Output::Pair => "(Tensor, Tensor)",
        Output::Triple => "(Tensor, Tensor, Tensor)",
        Output::Many => "Vec<Tensor>",
    };
    text += &layout::signature(
        "",
        &format!("fn {item_name}"),
        &params,
        &format!(" -> PyResult<{output}> {{"),
    );
    let step = step(rust_name);
    if step.is_some() {
        // The object of which the result is a part, or the same elements.
        text += &format!("    let whole = {};\n", ident(&function.params[0]));
    }
    text += &conversions(&function.params, COMPARISONS.contains(&&**rust_name));

    text += &options(&function.params);
    let (fields, positional): (Vec<&Param>, Vec<&Param>) =
        function.params.iter().partition(|param| param.field_of.is_some());
    let mut args: Vec<String> =
        positional.iter().map(|param| param.kind.rust_argument(&ident(param))).collect();
    if !fields.is_empty() {
        args.push("options".to_string());
    }
    let call = format!("ops::{rust_name}({})", args.join(", "));
    match of_kind(&function.params, Kind::Axes)[..] {
        // No axes, which are not all of them, are one more of size one.
        [axes] if function.params.iter().any(|param| param.name == "keepdims") => {
            let x = of_kind(&function.params, Kind::Value)[0];
            text += &format!(
                "    let run = || {axes}.of(&{x}, keepdims, |{x}, {axes}, keepdims| {call});\n"
            );
        }
        _ => text += &format!("    let run = || {call};\n"),
    }
    let seen;
    let wrap = match function.output {
        Output::One if let Some(step) = &step => {
            seen = format!(".and_then(|var| Tensor::seen_of(whole, {step}, var))");
            &seen
        }
        Output::Many if step.is_some() => {
            seen =
                format!(".and_then(|outputs| Tensor::parts_of(whole, outputs, \"{rust_name}\"))");
            &seen
        }
        Output::Nothing => "",
        Output::One => ".map(Tensor::new)",
        Output::Pair => ".map(|(a, b)| (Tensor::new(a), Tensor::new(b)))",
        Output::Triple => ".map(|(a, b, c)| (Tensor::new(a), Tensor::new(b), Tensor::new(c)))",
        Output::Many => ".map(|outputs| outputs.into_iter().map(Tensor::new).collect())",
    };
    // What counts how often a line is passed must know the line in both modes.
    let counts = function.params.iter().any(|param| param.name == "first_n");
    text += &match counts {
        true => format!("    call::run_counted(py, run){wrap}\n}}\n"),
        false => format!("    call::run(py, {}, run){wrap}\n}}\n", inputs(&function.params)),
    };
    text
}

/// How the result of a function is got from its first argument, if it is the same elements or a part of them: a change of it in
/// place has to reach that one.
fn step(name: &str) -> Option<String> {
    Some(match name {
        "reshape" | "flatten" | "squeeze" | "unsqueeze" => {
            "Step::Reshape(var.dims().to_vec())".to_string()
        }
        "transpose" => "Step::Transpose(axis_a, axis_b)".to_string(),
        "permute" => "Step::Permute(axes.to_vec())".to_string(),
        "broadcast_to" | "chunk" | "diagonal" | "movedim" | "narrow" | "slice" | "split"
        | "split_sizes" | "unbind" | "unfold" => format!("Step::Other(\"{name}\")"),
        _ => return None,
    })
}

/// The name of the Rust function that Python calls. One named `std` would hide the crate.
fn item_name<'a>(function: &PyFunction<'a>) -> &'a str {
    if function.source.name == "std" { "std_" } else { &function.source.name }
}

fn in_signature(param: &Param) -> String {
    let number = |text: &str| format!("FloatArg({text})");
    match &param.default {
        Some((rust, _)) if param.kind == Kind::Float => {
            format!("{}={}", ident(param), number(rust))
        }
        Some((rust, python)) if param.kind == Kind::OptionalFloat && rust != "None" => {
            format!("{}=Some({})", ident(param), number(python))
        }
        Some((rust, _)) if rust == "Vec::new()" => format!("{}=List::default()", ident(param)),
        Some((rust, _)) => format!("{}={rust}", ident(param)),
        None => ident(param),
    }
}

fn in_python(param: &Param) -> String {
    match &param.default {
        Some((_, python)) => format!("{}={python}", param.name),
        None => param.name.clone(),
    }
}

/// The statement that puts the fields of the options together.
fn options(params: &[Param]) -> String {
    let fields: Vec<&Param> = params.iter().filter(|param| param.field_of.is_some()).collect();
    let Some(name) = fields.first().and_then(|field| field.field_of.as_ref()) else {
        return String::new();
    };
    let fields = fields.iter().map(|param| {
        let argument = param.kind.rust_argument(&ident(param));
        match argument == param.name {
            true => argument,
            false => format!("{}: {argument}", param.name),
        }
    });
    layout::literal("    ", &format!("let options = ops::{name}"), &fields.collect::<Vec<_>>())
}

/// The name as Rust writes it.
fn ident(param: &Param) -> String {
    if param.name == "type" { "r#type".to_string() } else { param.name.clone() }
}

/// The statements that turn Python objects into what the op's function takes.
fn conversions(params: &[Param], compares: bool) -> String {
    let mut text = String::new();
    let values = of_kind(params, Kind::Value).join(", ");
    let many = if compares { "compared" } else { "vars" };
    match of_kind(params, Kind::Value).len() {
        0 => {}
        1 => text += &format!("    let {values} = args::var({values})?;\n"),
        _ => text += &format!("    let [{values}] = args::{many}(py, [{values}])?;\n"),
    }
    for name in of_kind(params, Kind::Values) {
        text += &format!("    let {name} = args::many({name})?;\n");
        text += &format!("    let {name}: Vec<&Var> = {name}.iter().collect();\n");
    }
    for name in of_kind(params, Kind::OptionalValue) {
        text += &format!("    let {name} = {name}.map(args::var).transpose()?;\n");
    }
    for param in params.iter().filter(|param| param.kind == Kind::Choice) {
        let (name, ty) = (&param.name, &param.ty);
        text += &format!("    let {name}: ops::{ty} = args::choice(py, {name})?;\n");
    }
    for name in of_kind(params, Kind::Texts) {
        text +=
            &format!("    let {name}: Vec<&str> = {name}.iter().map(String::as_str).collect();\n");
    }
    for name in of_kind(params, Kind::Axes) {
        text += &format!("    let {name} = args::axes({name})?;\n");
    }
    for kind in [Kind::Floats, Kind::OwnFloats] {
        for name in of_kind(params, kind) {
            text += &format!(
                "    let {name}: Vec<f64> = {name}.iter().map(|number| number.0).collect();\n"
            );
        }
    }
    for name in of_kind(params, Kind::Types) {
        text += &format!("    let {name}: Vec<_> = {name}.iter().map(|ty| ty.0).collect();\n");
    }
    text
}

fn inputs(params: &[Param]) -> String {
    if let [name] = &of_kind(params, Kind::Values)[..] {
        return format!("&{name}");
    }
    let values: Vec<String> =
        of_kind(params, Kind::Value).iter().map(|name| format!("&{name}")).collect();
    format!("&[{}]", values.join(", "))
}

fn of_kind(params: &[Param], kind: Kind) -> Vec<&str> {
    params.iter().filter(|param| param.kind == kind).map(|param| param.name.as_str()).collect()
}
