//! The ops in Python: `crates/py/src/generated.rs` with the functions, `python/fluvial/_ops.py`
//! with their names, and the type stubs `python/fluvial/_core.pyi`.

mod classes;
mod names;
mod param;
mod rust;
mod stubs;

pub use classes::{docstring, generate as classes};
use param::{Kind, Param};

use super::source::{File, Function, Ops};
use super::{MARKER, layout};
use crate::tree::Source;

/// The three files.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    let functions = functions(ops)?;
    let methods: Vec<&PyFunction<'_>> = functions.iter().filter(|f| is_method(ops, f)).collect();
    Ok(vec![
        rust::file(&functions, &methods),
        exported(&functions),
        stubs::file(ops, &functions, &methods),
    ])
}

/// Whether a function of a value first is a method of it, too. What the stubs of the class have is
/// written by hand.
fn is_method(ops: &Ops, function: &PyFunction<'_>) -> bool {
    let takes_value = function.params.first().is_some_and(|param| param.kind == Kind::Value);
    let class = ops.stubs.split("\nclass Tensor:").nth(1).unwrap_or_default();
    let class = class.split("\nclass ").next().unwrap_or_default();
    let by_hand = class.contains(&format!("    def {}(", function.name));
    takes_value && !by_hand && function.params[0].name != "condition"
}

/// A function as Python sees it.
struct PyFunction<'a> {
    source: &'a Function,
    /// The name in Python.
    name: &'a str,
    params: Vec<Param>,
    output: Output,
}

/// What a function returns.
#[derive(Clone, Copy)]
enum Output {
    Nothing,
    One,
    Pair,
    Triple,
    Many,
}

/// Every function but those that take closures or indices, or cannot fail, or that the stubs have:
/// they are written by hand.
fn functions(ops: &Ops) -> Result<Vec<PyFunction<'_>>, String> {
    let mut functions = Vec::new();
    let is_plain = |f: &Function| {
        let takes_index = f.params.iter().any(|(_, ty)| ty.ends_with("Index]"));
        let by_hand = ops.stubs.contains(&format!("\ndef {}(", py_name(&f.name)));
        !f.takes_closure() && !takes_index && !by_hand && f.output.starts_with("Result<")
    };
    for (file, function) in ops.functions().filter(|(_, function)| is_plain(function)) {
        let fault = |what: String| format!("{}: `{}`: {what}", file.path, function.name);
        functions.push(py_function(ops, file, function).map_err(fault)?);
    }
    functions.sort_by_key(|function| function.name);
    Ok(functions)
}

fn py_function<'a>(
    ops: &Ops,
    file: &File,
    function: &'a Function,
) -> Result<PyFunction<'a>, String> {
    let output = match function.output.as_str() {
        "Result<()>" => Output::Nothing,
        "Result<Var>" => Output::One,
        "Result<(Var, Var)>" => Output::Pair,
        "Result<(Var, Var, Var)>" => Output::Triple,
        "Result<Vec<Var>>" => Output::Many,
        other => return Err(format!("codegen/python does not know the result `{other}`")),
    };
    Ok(PyFunction {
        source: function,
        name: py_name(&function.name),
        params: param::params(ops, file, function)?,
        output,
    })
}

/// The name in Python: without the underscore that Rust needed, unless Python needs it, too.
fn py_name(name: &str) -> &str {
    match name.trim_end_matches('_') {
        "assert" | "and" | "or" | "not" | "is" | "in" | "if" | "for" | "while" | "from" => name,
        plain => plain,
    }
}

fn exported(functions: &[PyFunction<'_>]) -> Source {
    let lines = |lead: &str, tail: &str| -> String {
        functions.iter().map(|function| format!("    {lead}{}{tail},\n", function.name)).collect()
    };
    let text = format!(
        "\"\"\"The functions of the ops. {MARKER}\"\"\"\n\nfrom ._core import (\n{})\n\n\
         __all__ = [\n{}]\n",
        lines("", ""),
        lines("\"", "\"")
    );
    Source { path: "python/fluvial/_ops.py".to_string(), text }
}

impl PyFunction<'_> {
    /// The parameters, each as `show` writes it.
    fn signature(&self, show: fn(&Param) -> String) -> String {
        self.with_names(show)
    }

    /// The same with parameters written by `show`. Options are keywords only.
    fn with_names(&self, show: impl Fn(&Param) -> String) -> String {
        let mut parts: Vec<String> = self.params.iter().map(show).collect();
        if let Some(first) = self.params.iter().position(|param| param.field_of.is_some()) {
            parts.insert(first, "*".to_string());
        }
        parts.join(", ")
    }

    /// The lines of the docstring.
    fn doc(&self) -> Vec<String> {
        let text = self.source.doc.iter().take_while(|line| !line.starts_with("```"));
        let mut doc: Vec<String> = text.map(|line| layout::without_links(line)).collect();
        while doc.last().is_some_and(|line| line.trim().is_empty()) {
            doc.pop();
        }
        if !self.params.is_empty() {
            doc.extend([String::new(), "Args:".to_string()]);
        }
        let others = names::others(self);
        for param in &self.params {
            let others = others.iter().filter(|(_, ours)| ours.as_ref() == Some(&param.name));
            let others: Vec<&str> = others.map(|(other, _)| *other).collect();
            let also = match &others[..] {
                [] => String::new(),
                others => format!(" Also `{}`.", others.join("`, `")),
            };
            doc.push(format!("    {}: {}{also}", param.name, param.doc));
        }
        doc
    }
}
