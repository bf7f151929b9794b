//! `crates/fluvial/src/nn/layers/mod.rs`: the layers, their constructors and builders, and the list of
//! all; and `docs/all_layers.md`, the reference page.

use super::stated::{FOLDER, Layer, LayerFile, LayerOption};
use super::{MARKER, layout};
use crate::codegen::source::first_paragraph;
use crate::tree::Source;

/// Both files.
pub fn generate(files: &[LayerFile]) -> Vec<Source> {
    if files.is_empty() {
        return Vec::new();
    }
    let module = Source { path: format!("{FOLDER}mod.rs"), text: module(files) };
    vec![module, Source { path: "docs/all_layers.md".to_string(), text: page(files) }]
}

fn module(files: &[LayerFile]) -> String {
    let mut text = format!("//! The layers, by family. {MARKER}\n\n");
    let mut builders = String::new();
    let mut kinds = String::new();
    for file in files {
        text += &format!("mod {};\n", file.name);
        for layer in file.layers() {
            builders += &methods(&file.name, &layer);
            let (name, spec) = (&layer.head.name, spec_of(&file.name, &layer));
            kinds += &format!("    (\"{name}\", || Arc::new({spec}::default())),\n");
        }
    }
    text += "\nuse std::sync::Arc;\n\nuse super::{MakeStatement, ParamAttr, Path};\n";
    if builders.contains("PerAxis") {
        text += "use fluvial_core::PerAxis;\n";
    }
    if builders.contains("Function::of") {
        text += "use super::Layer;\nuse super::stated::Function;\n";
    }
    text += &choices(files);
    text += "\n";
    for file in files {
        let names = file.layers().flat_map(|layer| {
            std::iter::once(layer.head.rust_name.clone()).chain(layer.head.aliases.iter().cloned())
        });
        let mut names: Vec<String> = names.chain(file.beside.iter().cloned()).collect();
        names.sort();
        text += &layout::use_list(&format!("pub use {}::", file.name), &names);
    }
    text += "\n/// The name of every layer in Python, and the layer with the defaults of its options.\n\
             pub const KINDS: &[(&str, MakeStatement)] = &[\n";
    text + &kinds + "];\n" + &builders
}

/// The import of the types of options that are one of a few words.
fn choices(files: &[LayerFile]) -> String {
    let options = files.iter().flat_map(|file| &file.groups).flat_map(|group| &group.options);
    let defaults = options.filter_map(|option| option.field.value.split_once("::"));
    let names = defaults.map(|(name, _)| name.to_string());
    let own: Vec<&String> = files.iter().flat_map(|file| &file.beside).collect();
    let names = names.filter(|name| !["PerAxis", "Function", "Vec"].contains(&&**name));
    let names = names.filter(|name| !own.contains(&name));
    let names: std::collections::BTreeSet<String> = names.collect();
    match names.is_empty() {
        true => String::new(),
        false => layout::use_list("use fluvial_ops::", &names.into_iter().collect::<Vec<_>>()),
    }
}

/// The struct of the options, as an expression names it.
fn spec_of(module: &str, layer: &Layer<'_>) -> String {
    format!("{module}::{}::<{}>", layer.group.spec, layer.head.number)
}

fn methods(module: &str, layer: &Layer<'_>) -> String {
    let name = &layer.head.rust_name;
    let mut text = format!("\nimpl {name} {{\n");
    text += &constructor(module, layer);
    for option in layer.options().filter(|o| !layer.group.new.contains(&o.field.name)) {
        text += &builder(layer, option);
    }
    for attr in &layer.group.attrs {
        let of = attr.trim_end_matches("_attr");
        text += &format!(
            "\n    /// Says something of the {of}, or of all of that kind.\n    #[must_use]\n    \
             pub fn {attr}(self, attr: impl Into<ParamAttr>) -> {name} {{\n        \
             self.with_attr(\"{attr}\", attr)\n    }}\n"
        );
    }
    text += "}\n";
    if layer.group.new.is_empty() {
        text += &format!(
            "\nimpl Default for {name} {{\n    fn default() -> {name} {{\n        \
             {name}::new()\n    }}\n}}\n"
        );
    }
    text
}

fn constructor(module: &str, layer: &Layer<'_>) -> String {
    let option = |name: &String| layer.group.options.iter().find(|o| o.field.name == *name);
    let mut params = Vec::new();
    let mut fields = Vec::new();
    for option in layer.group.new.iter().filter_map(option) {
        let (name, ty) = (&option.field.name, option.field.ty.as_str());
        let inner = ty.strip_prefix("Option<").and_then(|ty| ty.strip_suffix('>'));
        let (ty, value) = match (ty, inner) {
            (_, Some(inner)) => (inner.to_string(), format!("{name}: Some({name})")),
            ("PerAxis", _) => ("impl Into<PerAxis>".to_string(), format!("{name}: {name}.into()")),
            ("Vec<usize>", _) => ("&[usize]".to_string(), format!("{name}: {name}.to_vec()")),
            (ty, _) => (ty.to_string(), name.clone()),
        };
        params.push(format!("{name}: {ty}"));
        fields.push(value);
    }
    let spec = spec_of(module, layer);
    let is_whole = fields.len() == layer.group.options.len();
    fields.extend((!is_whole).then(|| format!("..{spec}::default()")));
    let literal = match &fields[..] {
        [] => format!("{spec} {{}}"),
        fields => format!("{spec} {{ {} }}", fields.join(", ")),
    };
    let has_place = layer.group.new.iter().any(|name| name == "at");
    let make = if has_place { "at(at, " } else { "nowhere(" };
    if has_place {
        params.insert(0, "at: impl Into<Path>".to_string());
    }
    let about = match is_whole {
        true => "With these options.",
        false => "With these options; the others have their defaults.",
    };
    format!(
        "    /// {about}\n    pub fn new({}) -> {} {{\n        \
         Self::{make}{literal})\n    }}\n",
        params.join(", "),
        layer.head.rust_name
    )
}

fn builder(layer: &Layer<'_>, option: &LayerOption) -> String {
    let (name, ty) = (&option.field.name, option.field.ty.as_str());
    let about = first_paragraph(&option.field.doc);
    let mut text = "\n".to_string() + &layout::comment("    ///", &about) + "    #[must_use]\n";
    let of = &layer.head.rust_name;
    let has_place = layer.group.new.iter().any(|name| name == "at");
    let (head, value) = match (ty, option.field.value.as_str()) {
        ("bool", _) if !has_place => (format!("{name}(self, {name}: bool)"), name.clone()),
        ("bool", "true") => (format!("no_{name}(self)"), "false".to_string()),
        ("bool", _) => (format!("{name}(self)"), "true".to_string()),
        ("Function", _) => {
            (format!("{name}(self, {name}: impl Layer + 'static)"), format!("Function::of({name})"))
        }
        _ if ty == "PerAxis" || ty.starts_with("Option<") => {
            (format!("{name}(self, {name}: impl Into<{ty}>)"), format!("{name}.into()"))
        }
        _ => (format!("{name}(self, {name}: {ty})"), name.clone()),
    };
    text += &format!("    pub fn {head} -> {of} {{\n");
    text + &format!("        self.with(|options| options.{name} = {value})\n    }}\n")
}

fn page(files: &[LayerFile]) -> String {
    let mut text = format!("<!-- {MARKER} -->\n\n# All layers\n\n");
    text += "By family, with the signatures of Python; in Rust, options have builders of their names. \
             Each family is one file, named here.\n";
    for file in files {
        text += &format!("\n## [{}](../{})\n", file.name, file.path);
        for layer in file.layers() {
            let mut names = vec![layer.head.name.clone()];
            names.extend(
                (layer.head.rust_name != layer.head.name).then(|| layer.head.rust_name.clone()),
            );
            names.extend(layer.head.aliases.iter().cloned());
            names.dedup();
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            text +=
                &format!("\n### {}\n\n{}\n", names.join(", "), first_paragraph(&layer.head.doc));
            for option in layer.options() {
                let mut names = vec![&option.field.name];
                names.extend(&option.others);
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let default = match option.field.value.as_str() {
                    "" => String::new(),
                    value => format!(" (`{value}`)"),
                };
                let about = first_paragraph(&option.field.doc);
                text += &format!("\n- {}{default}: {about}", names.join(", "));
            }
            text += if layer.options().next().is_none() { "" } else { "\n" };
        }
    }
    text
}
