//! Programs as data for a page: what was written, and what each pass made of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use fluvial::compile::{Compiled, Options, compile, pipeline};
use fluvial::core::{Attr, Block, Call, Error, Loc, OpRef, Program, Result, Type};
use fluvial::kernels::Inst;
use serde_json::{Value as Json, json};

/// A program to look at.
pub struct Shown {
    /// What it is called.
    pub name: String,
    /// The program.
    pub program: Program,
    compiled: OnceLock<Result<Compiled>>,
}

impl Shown {
    /// A program under a name.
    pub fn new(name: impl Into<String>, program: Program) -> Shown {
        Shown { name: name.into(), program, compiled: OnceLock::new() }
    }

    fn compiled(&self) -> Result<&Compiled> {
        let compiled = self.compiled.get_or_init(|| {
            let outputs: Vec<&str> = self.program.outputs.iter().map(|name| &**name).collect();
            let options = Options { keep_stages: true, verify: false, ..Options::default() };
            compile(&self.program, &outputs, &options)
        });
        compiled.as_ref().map_err(Error::clone)
    }

    /// What there is to say of the program as a whole: inputs, outputs, states, symbols and the passes.
    pub fn overview(&self) -> Json {
        let program = &self.program;
        let typed = |name: &str, ty: &Type| json!({"name": name, "type": ty.to_string(), "bytes": bytes(ty)});
        let inputs = program.inputs.iter().zip(program.input_types());
        let outputs = program.outputs.iter().zip(program.output_types());
        let states = program.states.iter().map(|(name, state)| {
            let mut shown = typed(name, &state.ty);
            shown["role"] = json!(state.role.name());
            shown
        });
        let (stages, fault) = match self.compiled() {
            Ok(compiled) => (passes(&program.main, compiled), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        json!({
            "name": self.name,
            "inputs": inputs.map(|(name, ty)| typed(name, ty)).collect::<Vec<_>>(),
            "outputs": outputs.map(|(name, ty)| typed(name, ty)).collect::<Vec<_>>(),
            "states": states.collect::<Vec<_>>(),
            "symbols": texts(&symbols(program)),
            "n_calls": n_calls(&program.main),
            "stages": stages,
            "fault": fault,
        })
    }

    /// The blocks as they were written (0) or after so many passes.
    pub fn stage(&self, stage: usize) -> Result<Json> {
        let mut tables = Tables::default();
        let program = match stage.checked_sub(1) {
            None => &self.program,
            Some(stage) => match self.compiled()?.stages.get(stage) {
                Some((_, program)) => program,
                None => return Err(Error::argument(format!("there is no stage {stage}"))),
            },
        };
        tables.block(&program.main);
        Ok(json!({
            "inputs": texts(&program.inputs),
            "outputs": texts(&program.outputs),
            "main": tables.blocks.len() - 1,
            "blocks": tables.blocks,
            "types": tables.types.list.iter()
                .map(|ty| json!({"text": ty.to_string(), "bytes": bytes(ty)})).collect::<Vec<_>>(),
            "places": tables.places,
        }))
    }
}

fn texts(all: &[Arc<str>]) -> Vec<&str> {
    all.iter().map(|text| &**text).collect()
}

/// The symbols among the sizes of the inputs.
pub fn symbols(program: &Program) -> Vec<Arc<str>> {
    let dims = program.input_types().iter().flat_map(|ty| ty.dims().to_vec());
    let mut symbols: Vec<Arc<str>> =
        dims.flat_map(|dim| dim.symbols()).filter_map(|dim| dim.symbol_name()).collect();
    symbols.sort();
    symbols.dedup();
    symbols
}

fn passes(written: &Block, compiled: &Compiled) -> Vec<Json> {
    let mut stages =
        vec![json!({"name": "as written", "why": "", "n_calls": n_calls(written), "patches": []})];
    for (name, program) in &compiled.stages {
        let why = pipeline().iter().find(|pass| pass.name == *name).map(|pass| pass.why);
        let patches = compiled.patches.iter().filter(|patch| patch.pass == *name);
        stages.push(json!({
            "name": name,
            "why": why,
            "n_calls": n_calls(&program.main),
            "patches": patches.map(|patch| json!({"what": patch.what, "line": line(patch.loc)}))
                .collect::<Vec<_>>(),
        }));
    }
    stages
}

/// How many calls a block has, with those of the blocks in it.
pub fn n_calls(block: &Block) -> usize {
    let nested = |call: &Call| call.op.blocks().iter().map(|block| n_calls(block)).sum::<usize>();
    block.calls.iter().map(|call| 1 + nested(call)).sum()
}

/// The bytes of a tensor of known sizes.
fn bytes(ty: &Type) -> Option<usize> {
    let numel = ty.numel().filter(|_| !ty.is_list())?;
    numel.checked_mul(ty.dtype().size())
}

/// The user's line, if it is known.
pub fn line(loc: Loc) -> Option<String> {
    loc.is_known().then(|| format!("{}:{}", loc.file(), loc.line()))
}

/// A table of things that occur often.
struct Table<T> {
    list: Vec<T>,
    known: HashMap<T, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { list: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn number(&mut self, item: T) -> (usize, bool) {
        if let Some(&number) = self.known.get(&item) {
            return (number, false);
        }
        self.known.insert(item.clone(), self.list.len());
        self.list.push(item);
        (self.list.len() - 1, true)
    }
}

#[derive(Default)]
struct Tables {
    types: Table<Type>,
    places_known: Table<String>,
    places: Vec<Json>,
    blocks: Vec<Json>,
}

impl Tables {
    /// Adds a block behind those nested in it, and returns its number.
    fn block(&mut self, block: &Block) -> usize {
        let calls: Vec<Json> = block.calls.iter().map(|call| self.call(block, call)).collect();
        let types: Vec<usize> = block.types.iter().map(|ty| self.types.number(*ty).0).collect();
        let names: serde_json::Map<String, Json> =
            block.names.iter().map(|(id, name)| (id.to_string(), json!(**name))).collect();
        self.blocks.push(json!({
            "params": block.n_params,
            "types": types,
            "names": names,
            "results": block.results,
            "calls": calls,
        }));
        self.blocks.len() - 1
    }

    fn call(&mut self, block: &Block, call: &Call) -> Json {
        let inner: Vec<usize> = call.op.blocks().iter().map(|inner| self.block(inner)).collect();
        let mut shown = json!({
            "op": call.op.name(),
            "in": call.inputs.as_slice(),
            "first": call.first_output,
            "n": call.n_outputs,
        });
        let attributes = attributes(&call.op);
        if !attributes.is_empty() {
            shown["attrs"] = json!(attributes);
        }
        if let Some(place) = self.place(call.loc) {
            shown["at"] = json!(place);
        }
        if !inner.is_empty() {
            shown["blocks"] = json!(inner);
        }
        if let Some(twin) = &call.twin {
            shown["parts"] = json!(self.block(twin));
            if let Some(kernel) = kernel(call, block) {
                shown["kernel"] = json!(kernel);
            }
        }
        shown
    }

    fn place(&mut self, loc: Loc) -> Option<usize> {
        if !loc.is_known() {
            return None;
        }
        let marks = loc.marks();
        let layer = marks.layer();
        let key = format!("{loc} {} {:?} {}", loc.column(), layer, marks.phase.name());
        let (number, is_new) = self.places_known.number(key);
        if is_new {
            self.places.push(json!({
                "file": &*loc.file(),
                "line": loc.line(),
                "function": loc.function().as_deref(),
                "layer": layer.as_deref(),
                "phase": marks.phase.name(),
                "from": std::iter::successors(loc.parent(), |loc| loc.parent()).take(20)
                    .filter_map(line).collect::<Vec<_>>(),
            }));
        }
        Some(number)
    }
}

/// The scalar machine's program of a fused op, one instruction a line.
fn kernel(call: &Call, block: &Block) -> Option<Vec<String>> {
    let body = call.op.body()?;
    let name = |k: usize| {
        let id = call.inputs.get(k)?;
        Some(block.names.get(id).map_or_else(|| format!("%{id}"), |name| format!("%{name}")))
    };
    let line = |(i, inst): (usize, &Inst)| {
        let text = match *inst {
            Inst::Input(k) => format!("load {}", name(usize::from(k)).unwrap_or_default()),
            Inst::Param(k) => format!("parameter {k}"),
            Inst::Const(value) => format!("{value}"),
            Inst::Unary(op, a) => format!("{}(r{a})", op.name()),
            Inst::Binary(op, a, b) => format!("{}(r{a}, r{b})", op.name()),
            Inst::Select(c, a, b) => format!("select(r{c}, r{a}, r{b})"),
        };
        format!("r{i} = {text}")
    };
    let mut lines: Vec<String> = body.insts().iter().enumerate().map(line).collect();
    let results: Vec<String> = body.results().iter().map(|r| format!("r{r}")).collect();
    lines.push(format!("store {}", results.join(", ")));
    Some(lines)
}

/// Attributes of an op that are short enough to be read, by name.
pub fn attributes(op: &OpRef) -> Vec<(String, String)> {
    const MOST: usize = 40;
    let short = |text: String| match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    };
    let attrs = op.attrs();
    let shown =
        attrs.iter().filter_map(|(name, attr)| Some((name.to_string(), short(text(attr)?))));
    shown.collect()
}

fn text(attr: &Attr) -> Option<String> {
    Some(match attr {
        Attr::Bool(value) => value.to_string(),
        Attr::Int(value) => value.to_string(),
        Attr::Float(value) => value.to_string(),
        Attr::Str(value) => value.to_string(),
        Attr::Dim(value) => value.to_string(),
        Attr::DType(value) => value.to_string(),
        Attr::Tensor(value) => format!("{value:?}"),
        Attr::List(items)
            if items.iter().all(|item| matches!(item, Attr::Int(_) | Attr::Dim(_))) =>
        {
            format!("[{}]", items.iter().filter_map(text).collect::<Vec<_>>().join(", "))
        }
        _ => return None,
    })
}
