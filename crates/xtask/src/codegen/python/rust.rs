//! `crates/py/src/generated.rs`: the functions that Python calls.

use super::super::{MARKER, layout};
use super::param::{Kind, Param};
use super::{Output, PyFunction};
use crate::tree::Source;

/// The one file.
pub fn file(functions: &[PyFunction<'_>]) -> Source {
    let mut text = format!("//! The functions of the ops. {MARKER}\n\n");
    let body: String = functions.iter().map(function).collect();
    text += "use fluvial::core::Var;\nuse fluvial::ops;\nuse pyo3::prelude::*;\n\n";
    text += "use crate::tensor::Tensor;\n";
    let names = ["DTypeArg", "DimArg", "ShapeArg", "TypeArg"];
    let used = names.iter().filter(|name| body.contains(**name)).map(|name| name.to_string());
    text += &layout::use_list("use crate::types::", &used.collect::<Vec<_>>());
    text += "use crate::{args, call};\n";
    text += &body;
    text += "\npub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {\n";
    for function in functions {
        let name = &function.source.name;
        text += &format!("    module.add_function(wrap_pyfunction!({name}, module)?)?;\n");
    }
    text += "    Ok(())\n}\n";
    Source { path: "crates/py/src/generated.rs".to_string(), text }
}

fn function(function: &PyFunction<'_>) -> String {
    let mut text = "\n".to_string();
    for line in function.doc() {
        text += format!("/// {line}").trim_end();
        text += "\n";
    }
    let rust_name = &function.source.name;
    let renamed = match rust_name == function.name {
        true => String::new(),
        false => format!("name = \"{}\", ", function.name),
    };
    let signature: Vec<String> = function.params.iter().map(in_signature).collect();
    text += &format!("#[pyfunction]\n#[pyo3({renamed}signature = ({}))]\n", signature.join(", "));

    let typed = |param: &Param| format!("{}: {}", ident(param), param.kind.rust_type());
    let params: Vec<String> = std::iter::once("py: Python<'_>".to_string())
        .chain(function.params.iter().map(typed))
        .collect();
    let output = match function.output {
        Output::Nothing => "()",
        Output::One => "Tensor",
        Output::Pair => "(Tensor, Tensor)",
        Output::Many => "Vec<Tensor>",
    };
    text += &layout::signature(
        "",
        &format!("fn {rust_name}"),
        &params,
        &format!(" -> PyResult<{output}> {{"),
    );
    text += &conversions(&function.params);

    let args: Vec<String> =
        function.params.iter().map(|param| param.kind.rust_argument(&ident(param))).collect();
    text += &format!("    let run = || ops::{rust_name}({});\n", args.join(", "));
    let wrap = match function.output {
        Output::Nothing => "",
        Output::One => ".map(Tensor)",
        Output::Pair => ".map(|(a, b)| (Tensor(a), Tensor(b)))",
        Output::Many => ".map(|outputs| outputs.into_iter().map(Tensor).collect())",
    };
    text += &format!("    call::run(py, {}, run){wrap}\n}}\n", inputs(&function.params));
    text
}

fn in_signature(param: &Param) -> String {
    match param.default {
        Some((rust, _)) => format!("{}={rust}", ident(param)),
        None => ident(param),
    }
}

/// The name as Rust writes it.
fn ident(param: &Param) -> String {
    if param.name == "type" { "r#type".to_string() } else { param.name.clone() }
}

/// The statements that turn Python objects into what the op's function takes.
fn conversions(params: &[Param]) -> String {
    let mut text = String::new();
    let values = of_kind(params, Kind::Value).join(", ");
    match of_kind(params, Kind::Value).len() {
        0 => {}
        1 => text += &format!("    let {values} = args::var({values})?;\n"),
        _ => text += &format!("    let [{values}] = args::vars([{values}])?;\n"),
    }
    for name in of_kind(params, Kind::Values) {
        text += &format!("    let {name} = args::many({name})?;\n");
        text += &format!("    let {name}: Vec<&Var> = {name}.iter().collect();\n");
    }
    for name in of_kind(params, Kind::Axes) {
        text += &format!("    let {name} = args::axes({name})?;\n");
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
