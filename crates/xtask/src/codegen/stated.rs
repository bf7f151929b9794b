//! What the files of layers state, read with `syn`: the bodies of `layer!`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Item, LitStr, Token};

use super::source::{OptionField, Options, doc, file_name, parse, text_of};
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
    /// Public types that stand beside the layers.
    pub beside: Vec<String>,
    /// What its options choose among.
    pub choices: Vec<Options>,
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
    pub parts: Vec<Entry>,
    /// The layers and functions within, and what they are.
    pub layers: Vec<Entry>,
    /// The calls: the number of the layer that has it, the inputs, and the type of the output. The first one
    /// is that of all others.
    pub calls: Vec<(String, Vec<Entry>, String)>,
}

impl LayerFile {
    /// The layers of all groups, in order.
    pub fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.groups
            .iter()
            .flat_map(|group| group.heads.iter().map(move |head| Layer { head, group }))
    }
}

impl Layer<'_> {
    /// Its options.
    pub fn options(&self) -> impl Iterator<Item = &LayerOption> {
        self.group.options.iter().filter(|option| self.has(&option.only))
    }

    /// What is within it.
    pub fn layers(&self) -> impl Iterator<Item = &Entry> {
        self.group.layers.iter().filter(|entry| self.has(&entry.only))
    }

    /// Its inputs and the type of its output.
    pub fn call(&self) -> (&[Entry], &str) {
        let mut calls = self.group.calls.iter().skip(1);
        let own = calls.find(|(number, ..)| *number == self.head.number);
        own.or(self.group.calls.first()).map_or((&[], ""), |(_, inputs, output)| (inputs, output))
    }

    fn has(&self, only: &Option<String>) -> bool {
        only.as_ref().is_none_or(|only| *only == self.head.number)
    }
}

/// An option.
pub struct LayerOption {
    /// Name, type, default and documentation.
    pub field: OptionField,
    /// Other names.
    pub others: Vec<String>,
    /// The number of the one layer that has it.
    pub only: Option<String>,
}

/// The files of layers in this tree.
pub fn read(tree: &[Source]) -> Result<Vec<LayerFile>, String> {
    let mut files = Vec::new();
    for source in tree {
        let Some(name) = file_name(source, FOLDER) else { continue };
        let (mut groups, mut beside, mut choices) = (Vec::new(), Vec::new(), Vec::new());
        for item in &parse(source)?.items {
            if let Item::Struct(item) = item
                && matches!(item.vis, syn::Visibility::Public(_))
            {
                beside.push(item.ident.to_string());
            }
            let Item::Macro(item) = item else { continue };
            if item.mac.path.is_ident("choices") {
                let found = item.mac.parse_body::<Options>();
                let found = found.map_err(|error| format!("{}: {error}", source.path))?;
                beside.push(found.name.clone());
                choices.push(found);
            }
            if item.mac.path.is_ident("layer") {
                let group = item.mac.parse_body::<Group>();
                groups.push(group.map_err(|error| format!("{}: {error}", source.path))?);
            }
        }
        let (path, name) = (source.path.clone(), name.to_string());
        files.push(LayerFile { path, name, groups, beside, choices });
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
            let entries = entries(&body)?;
            let names = || entries.iter().map(|entry| entry.name.clone()).collect();
            match clause.to_string().as_str() {
                "new" => group.new = names(),
                "values" => group.values = names(),
                "attrs" => group.attrs = names(),
                "parts" => group.parts = entries,
                "layers" => group.layers = entries,
                "forward" => {
                    group.calls.push(("".to_string(), entries, output(input)?));
                    while input.peek(Token![,]) {
                        input.parse::<Token![,]>()?;
                        let number = input.parse::<syn::LitInt>()?.to_string();
                        let body;
                        syn::parenthesized!(body in input);
                        group.calls.push((number, self::entries(&body)?, output(input)?));
                    }
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
        let number = only(input)?.unwrap_or_else(|| "0".to_string());
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

/// `-> type`.
fn output(input: ParseStream<'_>) -> syn::Result<String> {
    input.parse::<Token![->]>()?;
    Ok(text_of(&input.parse::<syn::Type>()?))
}

fn entries(body: ParseStream<'_>) -> syn::Result<Vec<Entry>> {
    Ok(Punctuated::<Entry, Token![,]>::parse_terminated(body)?.into_iter().collect())
}

/// `(number)`, if it stands here.
fn only(input: ParseStream<'_>) -> syn::Result<Option<String>> {
    if !input.peek(syn::token::Paren) {
        return Ok(None);
    }
    let body;
    syn::parenthesized!(body in input);
    Ok(Some(body.parse::<syn::LitInt>()?.to_string()))
}

/// `name(number) | others: kind`.
pub struct Entry {
    /// The name.
    pub name: String,
    /// The number of the one layer that has it.
    pub only: Option<String>,
    /// Other names.
    pub others: Vec<String>,
    /// What it is.
    pub kind: String,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Entry> {
        let name = input.parse::<Ident>()?.to_string();
        let (only, others) = (only(input)?, bars(input)?);
        let mut kind = String::new();
        if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            kind = input.parse::<Ident>()?.to_string();
        }
        Ok(Entry { name, only, others, kind })
    }
}

impl Parse for LayerOption {
    fn parse(input: ParseStream<'_>) -> syn::Result<LayerOption> {
        let doc = doc(&Attribute::parse_outer(input)?);
        let name = input.parse::<Ident>()?.to_string();
        let (only, others) = (only(input)?, bars(input)?);
        input.parse::<Token![:]>()?;
        let ty = text_of(&input.parse::<syn::Type>()?);
        let mut value = String::new();
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            value = text_of(&input.parse::<Expr>()?);
        }
        Ok(LayerOption { field: OptionField { name, ty, value, doc }, others, only })
    }
}
