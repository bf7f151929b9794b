//! Programs as models: each call of a block becomes nodes. `table` has an entry for each op of ours
//! that can be written; the modules of families hold them.

mod control;
mod elementwise;
mod lists;
mod net;
mod quant;
mod reduce;
mod shape;
mod table;

use std::collections::{HashMap, HashSet};

use fluvial_core::structural::{Assign, Note, Read};
use fluvial_core::{Block, Call, DType, Dim, Error, Program, Result, State, Tensor, Type, state};

use super::generated::tensor_shape_proto::{Dimension, dimension};
use super::generated::type_proto::{Sequence, Tensor as TensorType, Value};
use super::generated::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto,
};
use super::{tensors, types};
pub use table::exported;

/// The op sets that are written.
pub const OPSETS: std::ops::RangeInclusive<i64> = 18..=26;

/// The version of the format that knows an op set.
fn ir_version(opset: i64) -> i64 {
    match opset {
        ..=18 => 8,
        19..=20 => 9,
        21..=22 => 10,
        23 => 11,
        24 => 12,
        _ => 13,
    }
}

/// The model of a program, with the values that its states have: those of the cells that it is bound to, else those of
/// the scope, else their first ones. If `explicit`, states are inputs of the model, and those that are
/// assigned outputs, too, called `next.NAME`.
pub fn model(program: &Program, opset: i64, explicit: bool) -> Result<ModelProto> {
    if !OPSETS.contains(&opset) {
        let (first, last) = OPSETS.into_inner();
        return Err(Error::argument(format!("op set {opset} cannot be written"))
            .remedy(format!("give one from {first} to {last}")));
    }
    let scope = state::current().bound_to(&program.bound());
    if !explicit {
        program.initialise(&scope)?;
    }
    let mut writer = Writer::new(opset, explicit, scope);
    let mut inputs = Vec::new();
    let mut names = Vec::new();
    for (name, ty) in program.inputs.iter().zip(program.input_types()) {
        writer.taken.insert(name.to_string(), 1);
        writer.note_sizes(name, ty);
        inputs.push(info(name, ty)?);
        names.push(name.to_string());
    }
    let found = writer.block(&program.main, names)?;
    let mut outputs = Vec::new();
    for ((name, from), ty) in program.outputs.iter().zip(&found).zip(program.output_types()) {
        if program.inputs.contains(name) {
            return Err(Error::argument(format!("an input and an output are named `{name}`"))
                .remedy("rename one: names are unique in an ONNX model"));
        }
        let from = writer.sequence(from)?;
        writer.finish(&from, name);
        outputs.push(info(name, ty)?);
    }
    let mut assigned: Vec<(String, String)> = writer.assigned.clone().into_iter().collect();
    assigned.sort();
    for (name, from) in assigned {
        let out = format!("next.{name}");
        writer.finish(&from, &out);
        let Some(decl) = program.states.get(name.as_str()) else { continue };
        outputs.push(info(&out, &decl.ty)?);
    }
    inputs.append(&mut writer.state_inputs);
    let replaced = &writer.replaced;
    writer.initializers.retain(|tensor| !replaced.contains(&tensor.name));
    Ok(ModelProto {
        ir_version: ir_version(opset),
        producer_name: "fluvial".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset }],
        graph: Some(GraphProto {
            name: "main".into(),
            node: writer.nodes,
            initializer: writer.initializers,
            input: inputs,
            output: outputs,
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    })
}

/// Writes nodes.
pub struct Writer {
    pub opset: i64,
    explicit: bool,
    scope: State,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    /// The tensors that initialisers were written of.
    known: HashMap<String, Tensor>,
    /// Initialisers that were written in another form.
    replaced: HashSet<String>,
    state_inputs: Vec<ValueInfoProto>,
    /// States that were read: the values that they have.
    read: HashMap<String, String>,
    assigned: HashMap<String, String>,
    /// Names that are taken, and how often they were asked for.
    taken: HashMap<String, usize>,
    /// Where sizes that are not numbers are found: a value, and the axis that has it.
    sizes: Vec<(Dim, String, usize)>,
    /// Sizes that were taken out of values: tensors of one element.
    known_sizes: Vec<(Dim, String)>,
    /// Lists that are not sequences yet.
    lists: HashMap<String, lists::Form>,
    layer: String,
}

/// A call with the names of its inputs.
pub struct Node<'a> {
    pub call: &'a Call,
    pub inputs: Vec<String>,
    pub types: Vec<Type>,
    pub outputs: Vec<Type>,
}

impl Node<'_> {
    /// An attribute of the op.
    pub fn attr<T: fluvial_core::Attribute>(&self, name: &'static str) -> Result<T> {
        self.call.op.attrs().field(self.call.op.name(), name)
    }

    /// An input.
    pub fn x(&self, i: usize) -> &str {
        &self.inputs[i]
    }

    /// The type of the first output.
    pub fn out(&self) -> &Type {
        &self.outputs[0]
    }
}

impl Writer {
    fn new(opset: i64, explicit: bool, scope: State) -> Writer {
        Writer {
            opset,
            explicit,
            scope,
            nodes: Vec::new(),
            initializers: Vec::new(),
            known: HashMap::new(),
            replaced: HashSet::new(),
            state_inputs: Vec::new(),
            read: HashMap::new(),
            assigned: HashMap::new(),
            taken: HashMap::new(),
            sizes: Vec::new(),
            known_sizes: Vec::new(),
            lists: HashMap::new(),
            layer: String::new(),
        }
    }

    /// A name that no other value has.
    fn fresh(&mut self, base: &str) -> String {
        let count = self.taken.entry(base.to_string()).or_insert(0);
        *count += 1;
        match *count {
            1 => base.to_string(),
            n => self.fresh(&format!("{base}_{n}")),
        }
    }

    /// A node with one output, whose name it returns.
    pub fn op(&mut self, op: &str, inputs: &[&str]) -> String {
        self.with(op, inputs, vec![])
    }

    /// A node with attributes and one output.
    pub fn with(&mut self, op: &str, inputs: &[&str], attrs: Vec<AttributeProto>) -> String {
        self.several(op, inputs, attrs, 1).remove(0)
    }

    /// A node with several outputs.
    pub fn several(
        &mut self,
        op: &str,
        inputs: &[&str],
        attribute: Vec<AttributeProto>,
        count: usize,
    ) -> Vec<String> {
        let output: Vec<String> = (0..count).map(|_| self.fresh(&op.to_lowercase())).collect();
        let base = match self.layer.is_empty() {
            true => op.to_string(),
            false => format!("/{}/{op}", self.layer.replace('.', "/")),
        };
        let name = self.fresh(&base);
        self.nodes.push(NodeProto {
            op_type: op.to_string(),
            name,
            input: inputs.iter().map(|name| name.to_string()).collect(),
            output: output.clone(),
            attribute,
            ..NodeProto::default()
        });
        output
    }

    /// Gives a value the name that an output of a graph has.
    fn finish(&mut self, from: &str, name: &str) {
        self.nodes.push(NodeProto {
            op_type: "Identity".into(),
            name: format!("output {name}"),
            input: vec![from.to_string()],
            output: vec![name.to_string()],
            ..NodeProto::default()
        });
    }

    /// A tensor that is known.
    pub fn constant(&mut self, tensor: &Tensor) -> Result<String> {
        let name = self.fresh("constant");
        self.initializers.push(tensors::message(&name, tensor)?);
        self.known.insert(name.clone(), tensor.clone());
        Ok(name)
    }

    /// The tensor behind a value that is known, which is written in another form instead.
    pub fn replaced(&mut self, name: &str) -> Result<Tensor> {
        let tensor = self.known.get(name).cloned().ok_or_else(|| {
            Error::argument("packed weights are written as ONNX where they are constants")
                .remedy("freeze the program first")
        })?;
        self.replaced.insert(name.to_string());
        Ok(tensor)
    }

    /// A number without axes.
    pub fn number(&mut self, value: f64, dtype: DType) -> Result<String> {
        self.constant(&Tensor::from_f64s(dtype, &[value], &[])?)
    }

    /// Integers along one axis.
    pub fn ints(&mut self, values: &[i64]) -> Result<String> {
        self.constant(&Tensor::from_slice(values, &[values.len()])?)
    }

    /// Another element type, if it is another.
    pub fn cast(&mut self, x: &str, from: DType, to: DType) -> String {
        match from == to {
            true => x.to_string(),
            false => self.with("Cast", &[x], vec![int("to", types::number(to).into())]),
        }
    }

    /// Remembers which sizes a value has.
    fn note_sizes(&mut self, name: &str, ty: &Type) {
        for (axis, &dim) in ty.dims().iter().enumerate() {
            let is_new = dim.is_symbolic() && self.sizes.iter().all(|(known, ..)| *known != dim);
            if is_new && !ty.is_list() {
                self.sizes.push((dim, name.to_string(), axis));
            }
        }
    }

    /// A size as a tensor of one element.
    pub fn size(&mut self, dim: Dim) -> Result<String> {
        if let Some(size) = dim.value() {
            return self.ints(&[size as i64]);
        }
        if let Some((_, name)) = self.known_sizes.iter().find(|(known, _)| *known == dim) {
            return Ok(name.clone());
        }
        let Some((_, name, axis)) = self.sizes.iter().find(|(known, ..)| *known == dim).cloned()
        else {
            return self.computed_size(dim);
        };
        let ends = vec![int("start", axis as i64), int("end", axis as i64 + 1)];
        let size = self.with("Shape", &[&name], ends);
        self.known_sizes.push((dim, size.clone()));
        Ok(size)
    }

    /// A size that is a product or a sum of others.
    fn computed_size(&mut self, dim: Dim) -> Result<String> {
        for (known, ..) in self.sizes.clone() {
            if let Ok(other) = dim.floor_div(known)
                && other.mul(known).ok() == Some(dim)
                && other != dim
                && other.symbols().len() <= dim.symbols().len()
            {
                let (a, b) = (self.size(known)?, self.size(other)?);
                return Ok(self.op("Mul", &[&a, &b]));
            }
        }
        for (known, ..) in self.sizes.clone() {
            let Ok(rest) = dim.sub(known) else { continue };
            if rest.value().is_some() {
                let (a, b) = (self.size(known)?, self.size(rest)?);
                return Ok(self.op("Add", &[&a, &b]));
            }
            let Ok(less) = known.sub(dim) else { continue };
            if less.value().is_some() {
                let (a, b) = (self.size(known)?, self.size(less)?);
                return Ok(self.op("Sub", &[&a, &b]));
            }
        }
        Err(Error::symbolic(format!("the size {dim} cannot be written as nodes")))
    }

    /// Sizes along one axis.
    pub fn sizes(&mut self, dims: &[Dim]) -> Result<String> {
        let known: Option<Vec<i64>> =
            dims.iter().map(|dim| dim.value().map(|size| size as i64)).collect();
        if let Some(known) = known {
            return self.ints(&known);
        }
        let parts = dims.iter().map(|&dim| self.size(dim)).collect::<Result<Vec<String>>>()?;
        match &parts[..] {
            [one] => Ok(one.clone()),
            parts => {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                Ok(self.with("Concat", &parts, vec![int("axis", 0)]))
            }
        }
    }

    /// Writes the calls of a block whose parameters have these names; the names of its results.
    fn block(&mut self, block: &Block, params: Vec<String>) -> Result<Vec<String>> {
        let mut names = params;
        names.resize(block.types.len(), String::new());
        let needed = needed(block);
        for call in block.calls.iter().zip(needed).filter_map(|(call, is_it)| is_it.then_some(call))
        {
            let before = std::mem::take(&mut self.layer);
            self.layer = call.loc.layer().map(|layer| layer.to_string()).unwrap_or_default();
            let found = self.call(block, call, &names).map_err(|error| {
                let types = block.input_types(call);
                error.in_op(call.op.name(), &types).at(call.loc)
            })?;
            self.layer = before;
            for (id, name) in call.outputs().zip(found) {
                self.note_sizes(&name, &block.types[id as usize]);
                names[id as usize] = name;
            }
        }
        let results = block.results.iter().map(|&id| match names[id as usize].as_str() {
            "" => Err(Error::argument("a result cannot be written as ONNX")),
            name => Ok(name.to_string()),
        });
        results.collect()
    }

    fn call(&mut self, block: &Block, call: &Call, names: &[String]) -> Result<Vec<String>> {
        let inputs: Vec<String> =
            call.inputs.iter().map(|&id| names[id as usize].clone()).collect();
        if let Some(only) = control::passed(call) {
            return Ok(vec![inputs[only].clone()]);
        }
        if inputs.iter().any(String::is_empty) {
            return Err(Error::argument("an output that it uses cannot be written as ONNX"));
        }
        if let Some(read) = call.op.downcast::<Read>() {
            return Ok(vec![self.state(&read.state, &read.ty)?]);
        }
        if let Some(assign) = call.op.downcast::<Assign>() {
            if !self.explicit {
                return Err(Error::argument(format!(
                    "the program assigns the state `{}`, which an ONNX model cannot",
                    assign.state
                ))
                .remedy("export it for inference, or with states as inputs and outputs"));
            }
            let name = assign.state.to_string();
            self.assigned.insert(name.clone(), inputs[0].clone());
            self.read.insert(name, inputs[0].clone());
            return Ok(vec![]);
        }
        if call.op.downcast::<Note>().is_some() {
            return Ok(vec![]);
        }
        let Some(export) = table::find(call.op.name()) else {
            return Err(Error::argument(format!(
                "the op `{}` cannot be written as ONNX",
                call.op.name()
            ))
            .remedy("docs/onnx.md lists the ops that can"));
        };
        let inputs = match table::knows_lists(call.op.name()) {
            true => inputs,
            false => inputs.iter().map(|name| self.sequence(name)).collect::<Result<_>>()?,
        };
        let types = block.input_types(call).into_iter().copied().collect();
        let outputs = block.output_types(call).to_vec();
        export(self, &Node { call, inputs, types, outputs })
    }

    fn state(&mut self, name: &str, ty: &Type) -> Result<String> {
        if let Some(value) = self.read.get(name) {
            return Ok(value.clone());
        }
        let own = self.fresh(name);
        if self.explicit {
            self.state_inputs.push(info(&own, ty)?);
        } else {
            let tensor = self.scope.tensor(name)?;
            self.initializers.push(tensors::message(&own, &tensor)?);
        }
        self.read.insert(name.to_string(), own.clone());
        Ok(own)
    }

    /// A graph of its own, which sees the values around it.
    pub fn graph(
        &mut self,
        name: &str,
        inputs: Vec<(String, Type)>,
        write: impl FnOnce(&mut Writer) -> Result<Vec<(String, Type)>>,
    ) -> Result<GraphProto> {
        let outer = std::mem::take(&mut self.nodes);
        let (n_sizes, n_known) = (self.sizes.len(), self.known_sizes.len());
        for (name, ty) in &inputs {
            self.note_sizes(name, ty);
        }
        let results = write(self);
        let mut output = Vec::new();
        if let Ok(results) = &results {
            for (from, ty) in results {
                let out = self.fresh(&format!("{name}_out"));
                self.finish(from, &out);
                output.push(info(&out, ty)?);
            }
        }
        let node = std::mem::replace(&mut self.nodes, outer);
        self.sizes.truncate(n_sizes);
        self.known_sizes.truncate(n_known);
        results?;
        let input = inputs.iter().map(|(name, ty)| info(name, ty)).collect::<Result<_>>()?;
        Ok(GraphProto { name: name.into(), node, input, output, ..GraphProto::default() })
    }
}

/// Which calls something depends on, outside of training.
fn needed(block: &Block) -> Vec<bool> {
    let mut values = vec![false; block.types.len()];
    block.results.iter().for_each(|&id| values[id as usize] = true);
    let mut calls = vec![false; block.calls.len()];
    for (i, call) in block.calls.iter().enumerate().rev() {
        calls[i] = call.op.properties().effect || call.outputs().any(|id| values[id as usize]);
        if calls[i] {
            let used = control::passed(call).map_or(0..call.inputs.len(), |only| only..only + 1);
            call.inputs[used].iter().for_each(|&id| values[id as usize] = true);
        }
    }
    calls
}

/// A value with its type.
fn info(name: &str, ty: &Type) -> Result<ValueInfoProto> {
    let size = |&dim: &Dim| Dimension {
        value: Some(match dim.value() {
            Some(size) => dimension::Value::DimValue(size as i64),
            None => dimension::Value::DimParam(dim.to_string()),
        }),
    };
    let element = match (ty.lists(), ty.element()) {
        (0, _) => *ty,
        (1, Some(element)) => element,
        _ => return Err(Error::dtype("lists of lists cannot be written as ONNX")),
    };
    let shape = Some(TensorShapeProto { dim: element.dims().iter().map(size).collect() });
    let elem_type = types::number(element.dtype());
    let tensor = TypeProto { value: Some(Value::TensorType(TensorType { elem_type, shape })) };
    let whole = match ty.is_list() {
        false => tensor,
        true => {
            let elem_type = Some(Box::new(tensor));
            TypeProto { value: Some(Value::SequenceType(Box::new(Sequence { elem_type }))) }
        }
    };
    Ok(ValueInfoProto { name: name.into(), r#type: Some(whole), ..ValueInfoProto::default() })
}

/// An integer attribute.
pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i, r#type: 2, ..AttributeProto::default() }
}

/// A float attribute.
pub fn float(name: &str, f: f64) -> AttributeProto {
    AttributeProto { name: name.into(), f: f as f32, r#type: 1, ..AttributeProto::default() }
}

/// An attribute of integers.
pub fn ints(name: &str, values: impl IntoIterator<Item = i64>) -> AttributeProto {
    let ints = values.into_iter().collect();
    AttributeProto { name: name.into(), ints, r#type: 7, ..AttributeProto::default() }
}

/// A string attribute.
pub fn string(name: &str, text: &str) -> AttributeProto {
    AttributeProto { name: name.into(), s: text.into(), r#type: 3, ..AttributeProto::default() }
}

/// A graph as an attribute.
pub fn graph(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { name: name.into(), g: Some(graph), r#type: 5, ..AttributeProto::default() }
}
