//! Models as programs: graphs are run over values, and what is run while a program is built is the
//! program. `table` has an entry for each op; the modules of families hold them.

mod activations;
mod arithmetic;
mod attention;
mod control;
mod conv;
mod create;
mod index;
mod linalg;
mod loss;
mod microsoft;
mod microsoft_attention;
mod ml;
mod node;
mod norm;
mod pool;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod resize;
mod sequence;
mod shape;
mod signal;
mod sizes;
mod table;
mod training;
mod value;
mod window;

use std::cell::{Cell as Counter, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fluvial_core::{
    Cell, Dim, Error, ErrorKind, Program, Result, Role, Type, Var, imperative, limit_outputs, scope,
};

use prost::Message;

use super::generated::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, ValueInfoProto, type_proto,
};
use super::types::{self, Said, Size};
use super::{Options, tensors};
pub use arithmetic::divide as truncated_quotient;
use node::Node;
pub use shape::concat as concatenated;
use table::Import;
pub use table::{Supported, supported};
use value::{Param, Val};

/// The op sets that are read.
pub const OPSETS: std::ops::RangeInclusive<i64> = 1..=28;
/// How deep graphs and functions may lie in each other.
const DEPTH: usize = 48;
/// How many nodes may be read, those of functions for each of their calls.
const NODES: usize = 1 << 20;
/// How many bytes constants of a model may become while it is read, beside so many times what the file has. Further
/// ones are computed by the program, within the limits of its runs.
const FOLDED: (u64, u64) = (1 << 28, 4);

/// What does not change while a model is read.
pub struct Importer<'a> {
    folder: Option<&'a Path>,
    functions: &'a [FunctionProto],
    options: &'a Options,
    /// Initialisers that were read, by the address of their message.
    initialisers: RefCell<HashMap<*const TensorProto, Val>>,
    n_nodes: Counter<usize>,
    /// How many bytes constants may still become.
    foldable: Counter<u64>,
    /// The symbols for names of sizes.
    symbols: RefCell<Vec<(String, Dim)>>,
}

/// The values of a graph by name, in the graph around it.
pub struct Env<'a> {
    values: HashMap<&'a str, Val>,
    outer: Option<&'a Env<'a>>,
    opsets: &'a [OperatorSetIdProto],
    /// In a function: the attributes of the call, and those with defaults.
    attrs: Vec<&'a AttributeProto>,
    depth: usize,
}

impl<'a> Env<'a> {
    fn get(&self, name: &str) -> Option<&Val> {
        self.values.get(name).or_else(|| self.outer?.get(name))
    }

    /// The attribute of the function that is called.
    pub fn attr(&self, name: &str) -> Option<&AttributeProto> {
        let own = self.attrs.iter().find(|attr| attr.name == name);
        own.copied().or_else(|| self.outer?.attr(name))
    }

    fn opset(&self, domain: &str) -> Option<i64> {
        let domain = if domain == "ai.onnx" { "" } else { domain };
        let is_it = |set: &&OperatorSetIdProto| match set.domain.as_str() {
            "ai.onnx" => domain.is_empty(),
            other => other == domain,
        };
        self.opsets.iter().find(is_it).map(|set| set.version)
    }

    /// Inside of this one.
    fn inner<'b>(&'b self, opsets: &'b [OperatorSetIdProto]) -> Result<Env<'b>> {
        if self.depth >= DEPTH {
            return Err(Error::program(format!("graphs lie more than {DEPTH} deep in each other")));
        }
        let depth = self.depth + 1;
        Ok(Env { values: HashMap::new(), outer: Some(self), opsets, attrs: Vec::new(), depth })
    }
}

/// The program of a model.
#[track_caller]
pub fn program(model: &ModelProto, folder: Option<&Path>, options: &Options) -> Result<Program> {
    let _line = scope::at(scope::user_line());
    let Some(graph) = &model.graph else {
        return Err(Error::new(ErrorKind::File, "the ONNX model has no graph"));
    };
    let importer = Importer {
        folder,
        functions: &model.functions,
        options,
        initialisers: RefCell::default(),
        n_nodes: Counter::new(0),
        foldable: Counter::new(FOLDED.0 + FOLDED.1 * model.encoded_len() as u64),
        symbols: RefCell::default(),
    };
    let opsets = &model.opset_import[..];
    let mut env = Env { values: HashMap::new(), outer: None, opsets, attrs: Vec::new(), depth: 0 };
    let opset = env.opset("").unwrap_or(1);
    if !OPSETS.contains(&opset) && opsets.iter().any(|set| set.domain.is_empty()) {
        let (first, last) = OPSETS.into_inner();
        return Err(Error::new(
            ErrorKind::Version,
            format!("the model is of op set {opset}, but those from {first} to {last} are read"),
        ));
    }
    for (name, tensor) in &options.known {
        let input = graph.input.iter().find(|input| &input.name == name);
        let Some(input) = input else { return Err(no_input(graph, name)) };
        env.values.insert(&input.name, Val::Known(tensor.clone()));
    }
    let inputs = importer.inputs(graph, &env)?;
    let named: Vec<(&str, Type)> = inputs.iter().map(|(info, ty)| (&*info.name, *ty)).collect();
    let mut program = Program::build(&named, |vars| {
        for (var, (info, _)) in vars.iter().zip(&inputs) {
            env.values.insert(&info.name, Val::Var(var.clone()));
        }
        let outputs = importer.run(graph, env)?;
        let whole = |(val, info): (&Val, &ValueInfoProto)| {
            let var = val.var()?;
            match var.ty().is_list() {
                true => Err(Error::dtype("an output that is a sequence is not supported")),
                false => Ok(var),
            }
            .map_err(|error| error.note(format!("in the output `{}`", info.name)))
        };
        outputs.iter().zip(&graph.output).map(whole).collect::<Result<Vec<Var>>>()
    })?;
    program.outputs = graph.output.iter().map(|info| Arc::from(&*info.name)).collect();
    Ok(program)
}

fn no_input(graph: &GraphProto, name: &str) -> Error {
    let known: Vec<&str> = graph.input.iter().map(|input| &*input.name).collect();
    Error::argument(format!("the model has no input `{name}`"))
        .remedy(format!("its inputs are: {}", known.join(", ")))
}

impl<'a> Importer<'a> {
    /// The inputs of the program with their types.
    fn inputs<'g>(
        &self,
        graph: &'g GraphProto,
        env: &Env<'_>,
    ) -> Result<Vec<(&'g ValueInfoProto, Type)>> {
        for (name, _) in &self.options.types {
            if graph.input.iter().all(|input| &input.name != name) {
                return Err(no_input(graph, name));
            }
        }
        let mut symbols = self.symbols.borrow_mut();
        let mut found = Vec::new();
        for info in &graph.input {
            let given = self.options.types.iter().find(|(name, _)| *name == info.name);
            let is_initialised = || graph.initializer.iter().any(|known| known.name == info.name);
            if env.values.contains_key(&*info.name) || given.is_none() && is_initialised() {
                continue;
            }
            let ty = match given {
                Some((_, ty)) => *ty,
                None => declared(info, &mut symbols)
                    .map_err(|error| error.note(format!("in the input `{}`", info.name)))?,
            };
            found.push((info, ty));
        }
        Ok(found)
    }

    /// Runs a graph in this environment, which has its inputs; the values of its outputs.
    fn run<'g>(&self, graph: &'g GraphProto, mut env: Env<'g>) -> Result<Vec<Val>> {
        for proto in &graph.initializer {
            if env.values.contains_key(&*proto.name) {
                continue;
            }
            let val = match env.depth {
                0 => self.initialiser(proto)?,
                // States are read by the program itself, not inside of loops.
                _ => Val::Known(tensors::tensor(proto, self.folder)?),
            };
            env.values.insert(&proto.name, val);
        }
        for proto in &graph.sparse_initializer {
            let name = proto.values.as_ref().map(|values| &*values.name).unwrap_or_default();
            env.values.insert(name, Val::Known(tensors::sparse(proto, self.folder)?));
        }
        let outputs = graph.output.iter().map(|info| info.name.as_str());
        self.nodes(&graph.node, outputs, env)
    }

    fn nodes<'g>(
        &self,
        nodes: &'g [NodeProto],
        outputs: impl Iterator<Item = &'g str>,
        mut env: Env<'g>,
    ) -> Result<Vec<Val>> {
        for proto in nodes {
            let found = self.node(proto, &env)?;
            for (name, val) in proto.output.iter().zip(found) {
                if !name.is_empty() {
                    env.values.insert(name, val);
                }
            }
        }
        let found = |name| env.get(name).cloned().ok_or_else(|| unknown(name));
        outputs.map(found).collect()
    }

    fn initialiser(&self, proto: &TensorProto) -> Result<Val> {
        let address: *const TensorProto = proto;
        if let Some(val) = self.initialisers.borrow().get(&address) {
            return Ok(val.clone());
        }
        let tensor = tensors::tensor(proto, self.folder)?;
        let val = match tensor.dtype().is_float() && tensor.rank() > 0 {
            true => {
                let role = if self.options.trainable { Role::Parameter } else { Role::Buffer };
                let cell = Cell::of(proto.name.as_str(), role, tensor.clone());
                Val::Param(Arc::new(Param { cell, tensor, role }))
            }
            false => Val::Known(tensor),
        };
        self.initialisers.borrow_mut().insert(address, val.clone());
        Ok(val)
    }

    fn node(&self, proto: &NodeProto, env: &Env<'_>) -> Result<Vec<Val>> {
        self.n_nodes.set(self.n_nodes.get() + 1);
        if self.n_nodes.get() > NODES {
            return Err(Error::program(format!("the model has more than {NODES} nodes")));
        }
        let mut inputs = Vec::new();
        for name in &proto.input {
            inputs.push(match name.as_str() {
                "" => None,
                name => match env.get(name) {
                    Some(Val::Nothing) if proto.op_type != "OptionalHasElement" => None,
                    Some(val) => Some(val.clone()),
                    None => return Err(unknown(name).note(shown(proto, &inputs))),
                },
            });
        }
        let told = |error: Error| error.note(shown(proto, &inputs));
        let found = self.imported(proto, env, &inputs).map_err(told)?;
        let wanted = proto.output.iter().rposition(|name| !name.is_empty());
        match wanted.is_none_or(|last| last < found.len()) {
            true => Ok(found),
            false => Err(told(Error::argument(format!(
                "{} of its {} outputs are supported",
                found.len(),
                proto.output.len()
            )))),
        }
    }

    fn imported(
        &self,
        proto: &NodeProto,
        env: &Env<'_>,
        inputs: &[Option<Val>],
    ) -> Result<Vec<Val>> {
        let is_called = |function: &&FunctionProto| {
            function.name == proto.op_type
                && function.domain == proto.domain
                && function.overload == proto.overload
        };
        if let Some(function) = self.functions.iter().find(is_called) {
            return self.call(function, proto, env, inputs);
        }
        let Some(entry) = table::find(&proto.domain, &proto.op_type) else {
            return Err(unsupported(proto));
        };
        let opset = env.opset(&proto.domain).unwrap_or(1);
        let node = Node { proto, opset, inputs: inputs.to_vec(), importer: self, env };
        let _layer = scope::in_layer(&layer_name(&proto.name));
        for graph in proto.attribute.iter().filter_map(|attr| attr.g.as_ref()) {
            self.declare_used(graph, env)?;
        }
        if let Some(found) = sizes::try_sizes(entry, &node)? {
            return Ok(found);
        }
        let is_known = inputs.iter().flatten().all(Val::is_known);
        let import = || match entry.import {
            Import::One(import) => Ok(vec![import(&node)?.check()?.into()]),
            Import::Many(import) => import(&node),
        };
        if entry.folds && is_known {
            let folded = {
                let _at_once = (imperative(), limit_outputs(self.foldable.get()));
                import()
            };
            // What is too large to be computed now is computed by the program.
            if !folded.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit) {
                let tensors = folded.iter().flatten().filter_map(Val::tensor);
                let bytes = tensors.map(|x| (x.numel() * x.dtype().size()) as u64).sum();
                self.foldable.set(self.foldable.get().saturating_sub(bytes));
                return folded;
            }
        }
        import()
    }

    /// Runs a function of the model.
    fn call(
        &self,
        function: &FunctionProto,
        proto: &NodeProto,
        env: &Env<'_>,
        inputs: &[Option<Val>],
    ) -> Result<Vec<Val>> {
        let mut inner = env.inner(&function.opset_import)?;
        // A function sees no values of the graph that calls it.
        inner.outer = None;
        for (i, name) in function.input.iter().enumerate() {
            let val = inputs.get(i).cloned().flatten();
            inner.values.insert(name, val.unwrap_or(Val::Nothing));
        }
        inner.attrs = proto
            .attribute
            .iter()
            .filter_map(|attr| match attr.ref_attr_name.as_str() {
                "" => Some(attr),
                outer => env.attr(outer),
            })
            .collect();
        let defaults = function.attribute_proto.iter();
        let missing: Vec<&AttributeProto> =
            defaults.filter(|attr| inner.attr(&attr.name).is_none()).collect();
        inner.attrs.extend(missing);
        self.nodes(&function.node, function.output.iter().map(String::as_str), inner)
    }

    /// The type of the elements of a sequence, as a file says it.
    pub fn element_type(&self, info: &ValueInfoProto) -> Result<Type> {
        let value = info.r#type.as_ref().and_then(|ty| ty.value.as_ref());
        let Some(type_proto::Value::SequenceType(sequence)) = value else {
            return Err(Error::dtype("the type of an empty sequence is not known"));
        };
        let element = sequence.elem_type.as_ref().map(|ty| (**ty).clone());
        let element =
            ValueInfoProto { r#type: element, name: info.name.clone(), ..Default::default() };
        declared(&element, &mut self.symbols.borrow_mut())
    }

    /// Makes states of the initialisers that a graph of a node uses, since blocks inside a program declare none.
    pub fn declare_used(&self, graph: &GraphProto, env: &Env<'_>) -> Result<()> {
        for node in &graph.node {
            for name in &node.input {
                if let Some(val @ Val::Param(_)) = env.get(name) {
                    let _declared = val.var()?;
                }
            }
            for inner in node.attribute.iter().filter_map(|attr| attr.g.as_ref()) {
                self.declare_used(inner, env)?;
            }
        }
        for info in &graph.output {
            if let Some(val @ Val::Param(_)) = env.get(&info.name) {
                let _declared = val.var()?;
            }
        }
        Ok(())
    }

    /// Runs a graph that a node owns, with these inputs.
    pub fn subgraph(
        &self,
        graph: &GraphProto,
        inputs: Vec<Val>,
        env: &Env<'_>,
    ) -> Result<Vec<Val>> {
        let mut inner = env.inner(env.opsets)?;
        if inputs.len() != graph.input.len() {
            return Err(Error::argument(format!(
                "the graph `{}` takes {} inputs, got {}",
                graph.name,
                graph.input.len(),
                inputs.len()
            )));
        }
        for (info, val) in graph.input.iter().zip(inputs) {
            inner.values.insert(&info.name, val);
        }
        self.run(graph, inner)
    }
}

/// The type that a file says an input has; unknown sizes are symbols.
fn declared(info: &ValueInfoProto, symbols: &mut Vec<(String, Dim)>) -> Result<Type> {
    let (dtype, sizes) = match types::said(info)? {
        Said::Tensor(dtype, Some(sizes)) => (dtype, sizes),
        Said::Tensor(_, None) => {
            return Err(Error::shape("the number of its axes is not known")
                .remedy("give its type to `load`, as in `f32[batch, 3]`"));
        }
        Said::Other(what) => {
            return Err(Error::dtype(format!("an input that is {what} is not supported")));
        }
    };
    let mut dims = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        dims.push(match size {
            Size::Number(size) => Dim::size(*size),
            Size::Name(name) => types::symbol(name, symbols)?,
            Size::Unknown => types::symbol(&format!("{}_{i}", info.name), symbols)?,
        });
    }
    Type::new(dtype, &dims)
}

/// Nodes are named as paths; the listing has dotted names.
fn layer_name(name: &str) -> String {
    name.trim_matches('/').replace('/', ".")
}

fn shown(proto: &NodeProto, inputs: &[Option<Val>]) -> String {
    let of = |val: &Option<Val>| val.as_ref().map_or("-".to_string(), Val::shown);
    let types: Vec<String> = inputs.iter().map(of).collect();
    let name = match (proto.name.as_str(), proto.output.first()) {
        ("", Some(output)) => format!("that gives `{output}`"),
        (name, _) => format!("`{name}`"),
    };
    format!("in the ONNX node {name}: {}({})", proto.op_type, types.join(", "))
}

fn unknown(name: &str) -> Error {
    Error::program(format!("nothing in the graph gives `{name}` before it is used"))
}

fn unsupported(proto: &NodeProto) -> Error {
    let domain = match proto.domain.as_str() {
        "" | "ai.onnx" => String::new(),
        domain => format!("{domain}."),
    };
    Error::argument(format!("the ONNX op {domain}{} is not supported", proto.op_type))
        .remedy("docs/onnx.md lists the ops that are")
}
