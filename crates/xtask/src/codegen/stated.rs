//! What the files of layers state, read with `syn`: the bodies of `layer!`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Item, LitStr, Token};

use super::source::{OptionField, doc, file_name, parse, text_of};
use crate::tree::Source;

/// Where layers are stated.
pub const FOLDER: &str = "crates/fluvial/src/nn/layers/";

/// A file of layers.
pub struct LayerFile {
    /// The path from the root of the repository.
    pub path: String,
    /// The name without its ending.
    pub name: String,
    /// What it states, in order.
    pub groups: Vec<Group>,
}

/// A layer of a group.
pub struct Layer<'a> {
    /// What is its own.
    pub head: &'a Head,
    /// What it shares.
    pub group: &'a Group,
}

/// What is a layer's own.
pub struct Head {
    /// The lines of its documentation.
    pub doc: Vec<String>,
    /// The type in Rust.
    pub rust_name: String,
    /// The number among the layers with the same options.
    pub number: String,
    /// The class in Python.
    pub name: String,
    /// The class in Python that it extends.
    pub base: Option<String>,
    /// Other names.
    pub aliases: Vec<String>,
}

/// What one `layer!` states.
#[derive(Default)]
pub struct Group {
    /// Its layers.
    pub heads: Vec<Head>,
    /// The struct of the options.
    pub spec: String,
    /// The options; those without a default have no value.
    pub options: Vec<LayerOption>,
    /// What the constructor takes in Rust.
    pub new: Vec<String>,
    /// The tensors that users give.
    pub values: Vec<String>,
    /// The arguments that say something of parameters.
    pub attrs: Vec<String>,
    /// The parts that are always known, and whether they may be missing.
    pub parts: Vec<(String, String)>,
    /// The inputs: names, and what they are.
    pub inputs: Vec<(String, String)>,
    /// The type of the output.
    pub output: String,
}

impl LayerFile {
    /// The layers of all groups, in order.
    pub fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.groups
            .iter()
            .flat_map(|group| group.heads.iter().map(move |head| Layer { head, group }))
    }
}

/// An option.
pub struct LayerOption {
    /// Name, type, default and documentation.
    pub field: OptionField,
    /// Other names.
    pub others: Vec<String>,
}

/// The files of layers in this tree.
pub fn read(tree: &[Source]) -> Result<Vec<LayerFile>, String> {
    let mut files = Vec::new();
    for source in tree {
        let Some(name) = file_name(source, FOLDER) else { continue };
        let mut groups = Vec::new();
        for item in &parse(source)?.items {
            let Item::Macro(item) = item else { continue };
            if item.mac.path.is_ident("layer") {
                let group = item.mac.parse_body::<Group>();
                groups.push(group.map_err(|error| format!("{}: {error}", source.path))?);
            }
        }
        files.push(LayerFile { path: source.path.clone(), name: name.to_string(), groups });
    }
    Ok(files)
}

impl Parse for Group {
    fn parse(input: ParseStream<'_>) -> syn::Result<Group> {
        let mut heads = Vec::new();
        while input.peek(Token![#]) || input.peek(Token![pub]) {
            heads.push(input.parse::<Head>()?);
        }
        let spec = input.parse::<Ident>()?.to_string();
        let body;
        syn::braced!(body in input);
        let options = body.parse_terminated(LayerOption::parse, Token![,])?.into_iter().collect();
        let mut group = Group { heads, spec, options, ..Group::default() };
        while !input.is_empty() {
            let clause = input.parse::<Ident>()?;
            let body;
            syn::parenthesized!(body in input);
            let entries: Vec<(String, String)> =
                Punctuated::<Entry, Token![,]>::parse_terminated(&body)?
                    .into_iter()
                    .map(|entry| (entry.name, entry.kind))
                    .collect();
            let names = || entries.iter().map(|(name, _)| name.clone()).collect();
            match clause.to_string().as_str() {
                "new" => group.new = names(),
                "values" => group.values = names(),
                "attrs" => group.attrs = names(),
                "parts" => group.parts = entries,
                "forward" => {
                    input.parse::<Token![->]>()?;
                    group.output = text_of(&input.parse::<syn::Type>()?);
                    group.inputs = entries;
                    if input.peek(Token![=]) {
                        input.parse::<Token![=]>()?;
                        input.parse::<Expr>()?;
                    }
                }
                other => return Err(syn::Error::new(clause.span(), format!("what is `{other}`?"))),
            }
        }
        Ok(group)
    }
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> syn::Result<Head> {
        let doc = doc(&Attribute::parse_outer(input)?);
        input.parse::<Token![pub]>()?;
        let rust_name = input.parse::<Ident>()?.to_string();
        let mut number = "0".to_string();
        if input.peek(syn::token::Paren) {
            let body;
            syn::parenthesized!(body in input);
            number = body.parse::<syn::LitInt>()?.to_string();
        }
        input.parse::<Token![=]>()?;
        let name = input.parse::<LitStr>()?.value();
        let mut base = None;
        if input.peek(Ident) {
            input.parse::<Ident>()?;
            base = Some(input.parse::<Ident>()?.to_string());
        }
        let aliases = bars(input)?;
        input.parse::<Token![;]>()?;
        Ok(Head { doc, rust_name, number, name, base, aliases })
    }
}

/// `| a | b`.
fn bars(input: ParseStream<'_>) -> syn::Result<Vec<String>> {
    let mut names = Vec::new();
    while input.peek(Token![|]) {
        input.parse::<Token![|]>()?;
        names.push(input.parse::<Ident>()?.to_string());
    }
    Ok(names)
}

/// `name` or `name: kind`.
struct Entry {
    name: String,
    kind: String,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Entry> {
        let name = input.parse::<Ident>()?.to_string();
        let mut kind = String::new();
        if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            kind = input.parse::<Ident>()?.to_string();
        }
        Ok(Entry { name, kind })
    }
}

impl Parse for LayerOption {
    fn parse(input: ParseStream<'_>) -> syn::Result<LayerOption> {
        let doc = doc(&Attribute::parse_outer(input)?);
        let name = input.parse::<Ident>()?.to_string();
        let others = bars(input)?;
        input.parse::<Token![:]>()?;
        let ty = text_of(&input.parse::<syn::Type>()?);
        let mut value = String::new();
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            value = text_of(&input.parse::<Expr>()?);
        }
        Ok(LayerOption { field: OptionField { name, ty, value, doc }, others })
    }
}
