//! What the files of optimizers state, the bodies of `optimizer!`, and the files that follow:
//! `crates/fluvial/src/optim/rules/mod.rs`, `python/fluvial/optimizer/_generated.py`, and
//! `docs/all_optimizers.md`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Item, Token};

use super::MARKER;
use super::layout;
use super::python::docstring;
use super::source::{file_name, first_paragraph, parse, text_of};
use super::stated::{Entry, Head, LayerOption};
use crate::tree::Source;

const FOLDER: &str = "crates/fluvial/src/optim/rules/";

/// An optimizer.
struct Stated {
    /// The path of its file, and its name without the ending.
    path: String,
    module: String,
    /// What the labels of its states begin with.
    kind: String,
    head: Head,
    rule: String,
    options: Vec<LayerOption>,
    /// Other names of what all optimizers have.
    others: Vec<Entry>,
}

/// What stands in `optimizer!`.
struct Body {
    head: Head,
    rule: String,
    options: Vec<LayerOption>,
    others: Vec<Entry>,
}

impl Parse for Body {
    fn parse(input: ParseStream<'_>) -> syn::Result<Body> {
        let head = input.parse()?;
        let rule = input.parse::<Ident>()?.to_string();
        let body;
        syn::braced!(body in input);
        let options = body.parse_terminated(LayerOption::parse, Token![,])?.into_iter().collect();
        let mut others = Vec::new();
        if !input.is_empty() {
            input.parse::<Ident>()?;
            let body;
            syn::parenthesized!(body in input);
            let all = Punctuated::<Entry, Token![,]>::parse_terminated(&body)?;
            others = all.into_iter().collect();
        }
        Ok(Body { head, rule, options, others })
    }
}

/// All files.
pub fn generate(tree: &[Source]) -> Result<Vec<Source>, String> {
    let mut all = Vec::new();
    for source in tree {
        let Some(name) = file_name(source, FOLDER) else { continue };
        all.push(read(source, name)?);
    }
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let file = |path: &str, text| Source { path: path.to_string(), text };
    Ok(vec![
        file(&format!("{FOLDER}mod.rs"), module(&all)),
        file("python/fluvial/optimizer/_generated.py", classes(&all)?),
        file("docs/all_optimizers.md", page(&all)?),
    ])
}

fn read(source: &Source, name: &str) -> Result<Stated, String> {
    let fault = |what: &str| format!("{}: {what}", source.path);
    let (mut body, mut kind) = (None, None);
    for item in &parse(source)?.items {
        match item {
            Item::Macro(item) if item.mac.path.is_ident("optimizer") => {
                let found = item.mac.parse_body::<Body>();
                body = Some(found.map_err(|error| fault(&error.to_string()))?);
            }
            Item::Impl(item)
                if item.trait_.as_ref().is_some_and(|(_, of, _)| of.is_ident("Rule")) =>
            {
                let names = item.items.iter().find_map(|item| match item {
                    syn::ImplItem::Fn(item) if item.sig.ident == "name" => {
                        Some(text_of(&item.block))
                    }
                    _ => None,
                });
                let text = names.unwrap_or_default();
                kind = text.split('"').nth(1).map(str::to_string);
            }
            _ => {}
        }
    }
    let Body { head, rule, options, others } = body.ok_or_else(|| fault("no `optimizer!`"))?;
    let kind = kind.ok_or_else(|| fault("the rule has no `name` that is a text"))?;
    let (path, module) = (source.path.clone(), name.to_string());
    Ok(Stated { path, module, kind, head, rule, options, others })
}

fn module(all: &[Stated]) -> String {
    let mut text = format!("//! The rules, one file each. {MARKER}\n\n");
    all.iter().for_each(|one| text += &format!("mod {};\n", one.module));
    text += "\nuse super::AnyRule;\n\n";
    for one in all {
        let names = [one.head.rust_name.clone(), one.rule.clone()];
        text += &layout::use_list(&format!("pub use {}::", one.module), &names);
    }
    text += "\n/// All optimizers.\npub static RULES: &[fn() -> AnyRule] = &[\n";
    all.iter().for_each(|one| text += &format!("    || AnyRule::new({}::default()),\n", one.rule));
    text + "];\n"
}

const HEAD: &str = "\
from __future__ import annotations

from ._kinds import RuleOptimizer, WithMomentum

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from typing import Any

    from .lr import Schedule
";

fn classes(all: &[Stated]) -> Result<String, String> {
    let mut text = format!("\"\"\"The optimizers. {MARKER}\"\"\"\n\n{HEAD}");
    let mut names = Vec::new();
    // A class stands after the one that it extends.
    let is_above = |one: &&Stated, base: &str| one.head.name == base;
    let mut order: Vec<&Stated> = Vec::new();
    for one in all {
        let base = one.head.base.as_deref().unwrap_or_default();
        order.extend(all.iter().find(|other| is_above(other, base)));
        order.push(one);
    }
    for (i, one) in order.iter().enumerate() {
        if order[..i].iter().any(|known| known.kind == one.kind) {
            continue;
        }
        text += &class(one)?;
        let others = std::iter::once(&one.head.rust_name).chain(&one.head.aliases);
        let others: Vec<&String> = others.filter(|name| **name != one.head.name).collect();
        others.iter().for_each(|other| text += &format!("\n\n{other} = {}", one.head.name));
        text += if others.is_empty() { "" } else { "\n" };
        names.push(one.head.name.clone());
        names.extend(others.into_iter().cloned());
    }
    names.sort();
    let names: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    Ok(text + &format!("\n\n__all__ = [\n{names}]\n"))
}

/// The type and the default of an option, in Python.
fn in_python(option: &LayerOption) -> Result<(&'static str, String), String> {
    let value = option.field.value.clone();
    match option.field.ty.as_str() {
        "f64" => Ok(("float", value)),
        "(f64, f64)" => Ok(("tuple[float, float]", value)),
        "bool" if value == "true" => Ok(("builtins.bool", "True".to_string())),
        "bool" => Ok(("builtins.bool", "False".to_string())),
        other => Err(format!("codegen does not know an option of type {other}")),
    }
}

fn class(one: &Stated) -> Result<String, String> {
    let base = one.head.base.as_deref().unwrap_or("RuleOptimizer");
    let mut args = vec![("parameters".to_string(), "What it trains; see `Optimizer`.".to_string())];
    args.push(("learning_rate".to_string(), "The first rate.".to_string()));
    for option in &one.options {
        let also = match &option.others[..] {
            [] => String::new(),
            others => format!(" Also `{}`.", others.join("`, `")),
        };
        let about = first_paragraph(&option.field.doc);
        let default = in_python(option)?.1;
        args.push((option.field.name.clone(), format!("{about} {default} by default.{also}")));
    }
    args.push(("settings".to_string(), "Those of every `Optimizer`.".to_string()));
    let mut text = format!("\n\nclass {}({base}):\n", one.head.name);
    text += &docstring(&one.head.doc, &args);
    text += &format!("\n    _kind = \"{}\"\n", one.kind);
    let mut aliases = Vec::new();
    for option in &one.options {
        aliases.extend(option.others.iter().map(|other| (other, &option.field.name)));
    }
    for entry in &one.others {
        aliases.extend(entry.others.iter().map(|other| (other, &entry.name)));
    }
    if !aliases.is_empty() {
        let aliases: Vec<String> =
            aliases.iter().map(|(other, name)| format!("\"{other}\": \"{name}\"")).collect();
        text += &format!("    _aliases = {{**RuleOptimizer._aliases, {}}}\n", aliases.join(", "));
    }
    text += "\n    if TYPE_CHECKING:\n\n        def __init__(\n            self,\n            \
             parameters: Any = None,\n            learning_rate: float | Schedule | None = None,\n";
    text += if one.options.is_empty() { "" } else { "            *,\n" };
    for option in &one.options {
        let (ty, default) = in_python(option)?;
        text += &format!("            {}: {ty} = {default},\n", option.field.name);
    }
    Ok(text + "            **settings: Any,\n        ) -> None: ...\n")
}

fn page(all: &[Stated]) -> Result<String, String> {
    let mut text = format!("<!-- {MARKER} -->\n\n# All optimizers\n\n");
    text += "With the options of Python; in Rust, options have builders of their names. What all share is in \
             [training.md](training.md).\n";
    for one in all {
        let mut names = vec![one.head.name.clone()];
        names.extend((one.head.rust_name != one.head.name).then(|| one.head.rust_name.clone()));
        names.extend(one.head.aliases.iter().cloned());
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let about = one.head.doc.iter().take_while(|line| !line.starts_with("```"));
        let about: Vec<String> = about.map(|line| layout::without_links(line)).collect();
        let about = about.join("\n");
        let about = about.trim();
        text += &format!("\n## {}\n\n[{}](../{}): {about}\n", names.join(", "), one.kind, one.path);
        for option in &one.options {
            let mut names = vec![&option.field.name];
            names.extend(&option.others);
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let about = first_paragraph(&option.field.doc);
            text += &format!("\n- {} (`{}`): {about}", names.join(", "), in_python(option)?.1);
        }
        text += if one.options.is_empty() { "" } else { "\n" };
    }
    Ok(text)
}
