//! What the ops' files say, read with `syn`.

use std::collections::HashMap;

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Field, Ident, Item, LitStr, ReturnType, Token, Visibility};

use super::layout::name_order;
use crate::tree::Source;

const OPS: &str = "crates/ops/src/";
const STRUCTURAL: &str = "crates/core/src/structural/";
const CORE: &str = "crates/core/src/";
const STUBS: &str = "crates/py/core.pyi";

/// All that the generators know.
pub struct Ops {
    /// The folders of `crates/ops`, in order of name.
    pub families: Vec<Family>,
    /// The structural ops of the core.
    pub structural: Family,
    /// The structural functions that `crates/ops` shows as its own.
    pub shown: Vec<String>,
    /// The methods that `Var` has of its own.
    pub var_methods: Vec<String>,
    /// The stubs of the Python module that are written by hand.
    pub stubs: String,
    /// The choices that stand in files of layers.
    pub of_layers: Vec<Options>,
}

/// The files of one folder.
pub struct Family {
    /// The name of the folder.
    pub name: String,
    /// Its files, in order of name.
    pub files: Vec<File>,
}

/// One file of a family: most often one op.
pub struct File {
    /// The path from the root of the repository.
    pub path: String,
    /// The name without its ending.
    pub name: String,
    /// What it exports, but for `DEF`.
    pub exports: Vec<String>,
    /// Its public functions.
    pub functions: Vec<Function>,
    /// The structs of options and the choices that its functions take.
    pub options: Vec<Options>,
    /// The ops it defines.
    pub ops: Vec<Op>,
}

/// A public function.
pub struct Function {
    /// The name in Rust.
    pub name: String,
    /// The lines of its documentation.
    pub doc: Vec<String>,
    /// The generic parameters with their brackets, or nothing.
    pub generics: String,
    /// The parameters: names and types.
    pub params: Vec<(String, String)>,
    /// The type of the result, or nothing.
    pub output: String,
}

/// What `options!` or `choices!` declares.
pub struct Options {
    /// The name in Rust.
    pub name: String,
    /// The fields, or the words of a choice.
    pub fields: Vec<OptionField>,
    /// Whether it is a choice.
    pub is_choice: bool,
}

/// A field of a struct of options, or a variant of a choice.
pub struct OptionField {
    /// The name of the field or variant.
    pub name: String,
    /// The type of a field.
    pub ty: String,
    /// The default of a field, or the word for a variant.
    pub value: String,
    /// The lines of its documentation.
    pub doc: Vec<String>,
}

/// An op, as its `OpDef` and its struct or static say.
pub struct Op {
    /// The constant that holds the `OpDef`.
    pub def: String,
    /// The name in programs.
    pub name: String,
    /// The attributes: names, types, documentation.
    pub attributes: Vec<(String, String, Vec<String>)>,
    /// What its gradient is, where the file says so.
    pub gradient: Option<String>,
}

impl Ops {
    /// Reads the files of the ops in this tree.
    pub fn read(tree: &[Source]) -> Result<Ops, String> {
        let mut families: Vec<Family> = Vec::new();
        let mut structural = Family { name: "structural".to_string(), files: Vec::new() };
        for source in tree {
            if let Some(name) = file_name(source, STRUCTURAL) {
                structural.files.push(File::read(source, name)?);
                continue;
            }
            let Some(rest) = source.path.strip_prefix(OPS) else { continue };
            let Some((folder, _)) = rest.split_once('/') else { continue };
            let Some(name) = file_name(source, &format!("{OPS}{folder}/")) else { continue };
            let file = File::read(source, name)?;
            match families.last_mut() {
                Some(family) if family.name == folder => family.files.push(file),
                _ => families.push(Family { name: folder.to_string(), files: vec![file] }),
            }
        }
        let at = |path: String| tree.iter().find(move |source| source.path == path);
        let shown = at(format!("{OPS}lib.rs")).map_or(Ok(Vec::new()), shown)?;
        let var_methods = at(format!("{CORE}var.rs")).map_or(Ok(Vec::new()), var_methods)?;
        let stubs = at(STUBS.to_string()).map_or_else(String::new, |source| source.text.clone());
        Ok(Ops { families, structural, shown, var_methods, stubs, of_layers: Vec::new() })
    }

    /// The options or the choice of that name.
    pub fn options(&self, name: &str) -> Option<&Options> {
        let files = self.families.iter().flat_map(|family| &family.files);
        let all = files.flat_map(|file| &file.options).chain(&self.of_layers);
        all.into_iter().find(|options| options.name == name)
    }

    /// Every function that users call, with its file.
    pub fn functions(&self) -> impl Iterator<Item = (&File, &Function)> {
        let shown = self.structural.functions().filter(|(_, f)| self.shown.contains(&f.name));
        shown.chain(self.families.iter().flat_map(Family::functions))
    }
}

impl Family {
    /// The files in the order in which rustfmt wants their `use` lines.
    pub fn in_use_order(&self) -> impl Iterator<Item = &File> {
        let mut files: Vec<&File> = self.files.iter().collect();
        files.sort_by(|a, b| name_order(&a.name, &b.name));
        files.into_iter()
    }

    fn functions(&self) -> impl Iterator<Item = (&File, &Function)> {
        self.files.iter().flat_map(|file| file.functions.iter().map(move |f| (file, f)))
    }
}

impl File {
    fn read(source: &Source, name: &str) -> Result<File, String> {
        let parsed = parse(source)?;
        let mut exports = Vec::new();
        let mut functions = Vec::new();
        let mut options = Vec::new();
        let mut structs = HashMap::new();
        let mut gradients = HashMap::new();
        let mut numbers: HashMap<String, Vec<String>> = HashMap::new();
        let mut defs = Vec::new();
        for item in &parsed.items {
            let (visibility, ident) = match item {
                Item::Fn(item) => {
                    if is_public(&item.vis) {
                        functions.push(Function::read(item));
                    }
                    (&item.vis, &item.sig.ident)
                }
                Item::Const(item) => {
                    if let Some(name) = op_name(&item.expr, &structs) {
                        defs.push((item.ident.to_string(), name));
                        continue;
                    }
                    (&item.vis, &item.ident)
                }
                Item::Static(item) => {
                    if let Some((name, gradient, attributes)) = elementwise(&item.expr) {
                        gradients.insert(name.clone(), gradient.to_string());
                        numbers.insert(name, attributes);
                    }
                    (&item.vis, &item.ident)
                }
                Item::Struct(item) => (&item.vis, &item.ident),
                Item::Enum(item) => (&item.vis, &item.ident),
                Item::Type(item) => (&item.vis, &item.ident),
                Item::Trait(item) => (&item.vis, &item.ident),
                Item::Impl(item) => {
                    if let syn::Type::Path(path) = &*item.self_ty
                        && let Some(gradient) = stated_gradient(item)
                        && let Some(ident) = path.path.get_ident()
                    {
                        gradients.insert(ident.to_string(), gradient);
                    }
                    continue;
                }
                Item::Macro(item) if item.mac.path.is_ident("attributes") => {
                    let found: Struct = item
                        .mac
                        .parse_body()
                        .map_err(|error| format!("{}: {error}", source.path))?;
                    if is_public(&found.visibility) {
                        exports.push(found.ident.to_string());
                    }
                    structs.insert(found.ident.to_string(), found);
                    continue;
                }
                Item::Macro(item)
                    if item.mac.path.is_ident("options") || item.mac.path.is_ident("choices") =>
                {
                    let found: Options = item
                        .mac
                        .parse_body()
                        .map_err(|error| format!("{}: {error}", source.path))?;
                    exports.push(found.name.clone());
                    options.push(found);
                    continue;
                }
                _ => continue,
            };
            if is_public(visibility) {
                exports.push(ident.to_string());
            }
        }
        exports.sort();
        let ops = defs
            .into_iter()
            .map(|(def, name)| {
                let found = structs.values().find(|found| found.name.value() == name);
                let key = found.map_or(name.clone(), |found| found.ident.to_string());
                Op {
                    def,
                    attributes: match found {
                        Some(found) => found.attributes(),
                        None => number_attributes(numbers.remove(&name).unwrap_or_default()),
                    },
                    gradient: gradients.get(&key).cloned(),
                    name,
                }
            })
            .collect();
        let (path, name) = (source.path.clone(), name.to_string());
        Ok(File { path, name, exports, functions, options, ops })
    }
}

impl Function {
    fn read(item: &syn::ItemFn) -> Function {
        let params = item.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(param) => Some((text_of(&param.pat), text_of(&param.ty))),
            syn::FnArg::Receiver(_) => None,
        });
        let output = match &item.sig.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, ty) => text_of(ty),
        };
        let generics = &item.sig.generics;
        Function {
            name: item.sig.ident.to_string(),
            doc: doc(&item.attrs),
            generics: generics.lt_token.map_or_else(String::new, |_| text_of(generics)),
            params: params.collect(),
            output,
        }
    }

    /// The first paragraph of the documentation, in one line.
    pub fn summary(&self) -> String {
        first_paragraph(&self.doc)
    }

    /// Whether a parameter is a closure, or a block traced from one.
    pub fn takes_closure(&self) -> bool {
        self.params
            .iter()
            .any(|(_, ty)| (ty.starts_with("impl ") && ty != "impl Into<Number>") || ty == "Traced")
    }
}

/// The lines up to the first empty one, joined.
pub fn first_paragraph(doc: &[String]) -> String {
    let lines: Vec<&str> =
        doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// A struct as the macro `attributes!` declares it.
struct Struct {
    visibility: Visibility,
    ident: Ident,
    name: LitStr,
    fields: Punctuated<Field, Token![,]>,
}

impl Parse for Struct {
    fn parse(input: ParseStream<'_>) -> syn::Result<Struct> {
        Attribute::parse_outer(input)?;
        let visibility = input.parse()?;
        input.parse::<Token![struct]>()?;
        let ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let name = input.parse()?;
        let body;
        syn::braced!(body in input);
        let fields = body.parse_terminated(Field::parse_named, Token![,])?;
        Ok(Struct { visibility, ident, name, fields })
    }
}

impl Struct {
    fn attributes(&self) -> Vec<(String, String, Vec<String>)> {
        let of_field = |field: &Field| {
            let name = field.ident.as_ref().map_or_else(String::new, Ident::to_string);
            (name, text_of(&field.ty), doc(&field.attrs))
        };
        self.fields.iter().map(of_field).collect()
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        Attribute::parse_outer(input)?;
        input.parse::<Token![pub]>()?;
        let is_choice = input.peek(Token![enum]);
        match is_choice {
            true => drop(input.parse::<Token![enum]>()?),
            false => drop(input.parse::<Token![struct]>()?),
        }
        let name = input.parse::<Ident>()?.to_string();
        let body;
        syn::braced!(body in input);
        let field = |input: ParseStream<'_>| {
            let doc = doc(&Attribute::parse_outer(input)?);
            input.parse::<Visibility>()?;
            let name = input.parse::<Ident>()?.to_string();
            let mut ty = String::new();
            if input.peek(Token![:]) {
                input.parse::<Token![:]>()?;
                ty = text_of(&input.parse::<syn::Type>()?);
            }
            input.parse::<Token![=]>()?;
            let value = input.parse::<Expr>()?;
            let value = string(&value).unwrap_or_else(|| text_of(&value));
            Ok(OptionField { name, ty, value, doc })
        };
        let fields = body.parse_terminated(field, Token![,])?.into_iter().collect();
        Ok(Options { name, fields, is_choice })
    }
}

pub fn file_name<'a>(source: &'a Source, folder: &str) -> Option<&'a str> {
    let name = source.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    (name != "mod" && !name.contains('/')).then_some(name)
}

pub fn parse(source: &Source) -> Result<syn::File, String> {
    syn::parse_file(&source.text)
        .map_err(|error| format!("{}:{}: {error}", source.path, error.span().start().line))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The name in `OpDef::new(Scale::NAME, …)` or `OpDef::fixed("exp", …)`.
fn op_name(expr: &Expr, structs: &HashMap<String, Struct>) -> Option<String> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Path(function) = &*call.func else { return None };
    let segments: Vec<String> =
        function.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    if segments != ["OpDef", "new"] && segments != ["OpDef", "fixed"] {
        return None;
    }
    match call.args.first()? {
        Expr::Path(path) => {
            let owner = path.path.segments.first()?.ident.to_string();
            Some(structs.get(&owner)?.name.value())
        }
        expr => string(expr),
    }
}

/// Name, gradient and attributes in `Elementwise::unary("exp", …).domain(…)` or
/// `Parametric::unary("elu", &["alpha"], …)`.
fn elementwise(expr: &Expr) -> Option<(String, &'static str, Vec<String>)> {
    match expr {
        Expr::MethodCall(call) => elementwise(&call.receiver),
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else { return None };
            let constructor = function.path.segments.last()?.ident.to_string();
            let gradient = if constructor.ends_with("_flat") { "zero" } else { "rule" };
            let attributes = call.args.get(1).map_or_else(Vec::new, strings);
            Some((string(call.args.first()?)?, gradient, attributes))
        }
        _ => None,
    }
}

/// The texts in `&["a", "b"]`.
fn strings(expr: &Expr) -> Vec<String> {
    match expr {
        Expr::Reference(reference) => strings(&reference.expr),
        Expr::Array(array) => array.elems.iter().filter_map(string).collect(),
        _ => Vec::new(),
    }
}

fn number_attributes(names: Vec<String>) -> Vec<(String, String, Vec<String>)> {
    names.into_iter().map(|name| (name, "f64".to_string(), Vec::new())).collect()
}

fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// What `fn grad` of an `impl Op` names.
fn stated_gradient(item: &syn::ItemImpl) -> Option<String> {
    let (_, of_trait, _) = item.trait_.as_ref()?;
    if !of_trait.is_ident("Op") {
        return None;
    }
    let body = item.items.iter().find_map(|item| match item {
        syn::ImplItem::Fn(method) if method.sig.ident == "grad" => Some(text_of(method)),
        _ => None,
    })?;
    let kinds = [
        ("Grad::Rule", "rule"),
        ("Grad::Totals", "rule"),
        ("Grad::Zero", "zero"),
        ("Grad::Stop", "stops here"),
        ("Grad::NonDifferentiable", "none"),
    ];
    let (kind, word) = kinds.into_iter().find(|(kind, _)| body.contains(kind))?;
    let reason = body
        .split_once(&format!("{kind}(\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or_else(String::new, |(reason, _)| format!(", {reason}"));
    Some(format!("{word}{reason}"))
}

/// The structural functions that the crate of the ops re-exports.
fn shown(source: &Source) -> Result<Vec<String>, String> {
    let parsed = parse(source)?;
    let uses = parsed.items.iter().filter_map(|item| match item {
        Item::Use(item) => Some(text_of(&item.tree)),
        _ => None,
    });
    let lists = uses.filter_map(|path| {
        let names = path.strip_prefix("fluvial_core::structural::{")?.strip_suffix('}')?;
        Some(names.split(',').map(|name| name.trim().to_string()).collect::<Vec<_>>())
    });
    Ok(lists.flatten().filter(|name| !name.is_empty()).collect())
}

/// The public methods in `impl Var`.
fn var_methods(source: &Source) -> Result<Vec<String>, String> {
    let parsed = parse(source)?;
    let mut methods = Vec::new();
    for item in parsed.items {
        let Item::Impl(item) = item else { continue };
        let syn::Type::Path(path) = &*item.self_ty else { continue };
        if item.trait_.is_some() || !path.path.is_ident("Var") {
            continue;
        }
        for item in item.items {
            if let syn::ImplItem::Fn(method) = item {
                methods.push(method.sig.ident.to_string());
            }
        }
    }
    Ok(methods)
}

pub fn doc(attrs: &[Attribute]) -> Vec<String> {
    attrs
        .iter()
        .filter_map(|attr| match &attr.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => string(&pair.value),
            _ => None,
        })
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).to_string())
        .collect()
}

/// The text of a piece of syntax, in one line.
pub fn text_of(piece: &impl Spanned) -> String {
    let text = piece.span().source_text().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(", )", ")").replace(" )", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: &str = r#"
        /// Multiplies by
        /// a number.
        ///
        /// More.
        #[track_caller]
        pub fn scale(
            x: &Var,
            by: f64,
        ) -> Result<Var> {
            bind1(Scale { by }, &[x])
        }
        attributes! {
            /// The op.
            pub struct Scale = "my.scale" {
                /// The factor.
                pub by: f64,
            }
        }
        impl Op for Scale {
            fn grad(&self) -> Grad {
                Grad::Rule(Keeps::NOTHING, |p| grads![p => scale(&p.dy(), 1.0)])
            }
        }
        pub(super) fn helper() {}
        options! {
            /// How.
            pub struct ScaleOptions {
                /// Twice?
                pub twice: bool = false,
                /// By what.
                pub by: PerAxis = 1.into(),
            }
        }
        choices! {
            /// Which.
            pub enum Side {
                /// This.
                Left = "left",
            }
        }
        pub static FLAT: Elementwise = Elementwise::unary_flat("flat", |x| x).domain(Domain::Any);
        pub static ELU: Parametric = Parametric::unary("elu", &["alpha"], |x, p| x, KEEPS, RULE);
        pub const DEF: OpDef = OpDef::new(Scale::NAME, Scale::build, Vec::new);
        pub const ELU_DEF: OpDef = OpDef::new("elu", |attrs| ELU.build(attrs), Vec::new);
        pub const FLAT_DEF: OpDef = OpDef::fixed("flat", || (&FLAT).into(), Vec::new);
    "#;

    #[test]
    fn a_file_says_all_of_its_ops() {
        let source = Source { path: "scale.rs".to_string(), text: SCALE.to_string() };
        let file = File::read(&source, "scale").unwrap();
        assert_eq!(file.exports, ["ELU", "FLAT", "Scale", "ScaleOptions", "Side", "scale"]);
        let [options, side] = &file.options[..] else { panic!("two declarations") };
        let fields: Vec<_> = options.fields.iter().map(|f| (&*f.name, &*f.ty, &*f.value)).collect();
        assert_eq!(fields, [("twice", "bool", "false"), ("by", "PerAxis", "1.into()")]);
        assert!(side.is_choice && side.fields[0].value == "left");
        let [scale] = &file.functions[..] else { panic!("one function is public") };
        assert_eq!(scale.summary(), "Multiplies by a number.");
        assert_eq!(scale.params[1], ("by".to_string(), "f64".to_string()));
        assert_eq!(scale.output, "Result<Var>");
        let ops: Vec<_> =
            file.ops.iter().map(|op| (&*op.def, &*op.name, op.gradient.as_deref())).collect();
        let elu = ("ELU_DEF", "elu", Some("rule"));
        assert_eq!(
            ops,
            [("DEF", "my.scale", Some("rule")), elu, ("FLAT_DEF", "flat", Some("zero"))]
        );
        assert_eq!(file.ops[0].attributes[0].0, "by");
        assert_eq!(file.ops[1].attributes[0].0, "alpha");
    }

    #[test]
    fn a_file_that_does_not_parse_is_named() {
        let source = Source { path: "a.rs".to_string(), text: "\nfn (".to_string() };
        let fault = File::read(&source, "a").err().unwrap();
        assert!(fault.starts_with("a.rs:"), "{fault}");
    }
}
