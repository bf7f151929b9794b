//! `crates/ops/src/generated.rs`: all functions at the root of the crate, the list of ops, and the
//! functions as methods of values.

use super::source::{Function, Ops};
use super::{MARKER, layout};
use crate::tree::Source;

/// The types that signatures may name.
const TYPES: [&str; 11] = [
    "DType", "Dim", "Number", "OpDef", "PerAxis", "Result", "Tensor", "Type", "Value", "Var",
    "Whole",
];

/// The methods of the operators' traits.
const OPERATORS: [&str; 5] = ["add", "div", "mul", "neg", "sub"];

/// The one file.
pub fn generate(ops: &Ops) -> Result<Vec<Source>, String> {
    let functions = ops.functions().map(|(_, function)| function);
    let methods: Vec<&Function> = functions.filter(|f| is_method(ops, f)).collect();
    let body = exports(ops) + &list(ops) + &var_ops(&methods);
    let used: Vec<String> =
        TYPES.iter().filter(|name| has_word(&body, name)).map(|name| name.to_string()).collect();
    let head = format!(
        "//! What follows from the files of the ops. {MARKER}\n\n{}\n",
        layout::use_list("use fluvial_core::", &used)
    );
    Ok(vec![Source { path: "crates/ops/src/generated.rs".to_string(), text: head + &body }])
}

fn exports(ops: &Ops) -> String {
    let mut text = String::new();
    for family in &ops.families {
        for file in family.in_use_order() {
            let functions = file.functions.iter().map(|function| function.name.clone());
            let options = file.options.iter().map(|options| options.name.clone());
            let mut names: Vec<String> = options.chain(functions).collect();
            names.sort();
            if names.is_empty() {
                continue;
            }
            text += &layout::use_list(
                &format!("pub use crate::{}::{}::", family.name, file.name),
                &names,
            );
        }
    }
    text
}

fn list(ops: &Ops) -> String {
    let mut text = "\n/// Every op of this crate.\npub const OPS: &[OpDef] = &[\n".to_string();
    for family in &ops.families {
        for file in &family.files {
            for op in &file.ops {
                text += &format!("    crate::{}::{}::{},\n", family.name, file.name, op.def);
            }
        }
    }
    text + "];\n"
}

fn is_method(ops: &Ops, function: &Function) -> bool {
    let takes_value = function.params.first().is_some_and(|(_, ty)| ty == "&Var");
    takes_value
        && function.output.starts_with("Result<")
        && !function.takes_closure()
        && !ops.var_methods.contains(&function.name)
        && !OPERATORS.contains(&function.name.as_str())
}

fn var_ops(methods: &[&Function]) -> String {
    let mut text = "\n/// The functions of this crate as methods: `x.exp()?` is `exp(&x)?`.\n\
                    pub trait VarOps {\n"
        .to_string();
    for (i, function) in methods.iter().enumerate() {
        if i > 0 {
            text += "\n";
        }
        text += &layout::comment("    ///", &function.summary());
        text += "    #[track_caller]\n";
        text += &method(function, ";");
    }
    text += "}\n\nimpl VarOps for Var {\n";
    for (i, function) in methods.iter().enumerate() {
        if i > 0 {
            text += "\n";
        }
        let mut args = vec!["self".to_string()];
        args.extend(function.params[1..].iter().map(|(name, _)| name.clone()));
        text += &method(function, " {");
        text += &layout::signature("        ", &format!("crate::{}", function.name), &args, "");
        text += "    }\n";
    }
    text + "}\n"
}

fn method(function: &Function, end: &str) -> String {
    let mut params = vec!["&self".to_string()];
    params.extend(function.params[1..].iter().map(|(name, ty)| format!("{name}: {ty}")));
    let tail = format!(" -> {}{end}", function.output);
    layout::signature("    ", &format!("fn {}{}", function.name, function.generics), &params, &tail)
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
