//! A node while it is imported: its inputs and attributes as importers ask for them.

use fluvial_core::{DType, Dim, Error, Result, Tensor, Type, Var, Whole};
use fluvial_ops as ops;

use super::value::{Sizes, Val};
use super::{Env, Importer};
pub use crate::fit::front;
use crate::onnx::generated::{AttributeProto, GraphProto, NodeProto};
use crate::onnx::{tensors, types};

/// A node with the values of its inputs.
pub struct Node<'a> {
    pub proto: &'a NodeProto,
    /// The version of the op set of its domain.
    pub opset: i64,
    pub inputs: Vec<Option<Val>>,
    pub importer: &'a Importer<'a>,
    pub env: &'a Env<'a>,
}

impl Node<'_> {
    /// An input that must be there.
    pub fn val(&self, i: usize) -> Result<&Val> {
        self.opt_val(i).ok_or_else(|| Error::argument(format!("its input {i} is missing")))
    }

    /// An input, if it is there.
    pub fn opt_val(&self, i: usize) -> Option<&Val> {
        self.inputs.get(i)?.as_ref()
    }

    /// Whether an input is there.
    pub fn has(&self, i: usize) -> bool {
        self.opt_val(i).is_some()
    }

    /// An input as a value of the program.
    pub fn var(&self, i: usize) -> Result<Var> {
        self.val(i)?.var()
    }

    /// An input as a value of the program, if it is there.
    pub fn opt(&self, i: usize) -> Result<Option<Var>> {
        self.opt_val(i).map(Val::var).transpose()
    }

    /// All inputs from `i` on.
    pub fn rest(&self, i: usize) -> Result<Vec<Var>> {
        (i..self.inputs.len()).map(|i| self.var(i)).collect()
    }

    /// Whether an output is asked for.
    pub fn wants(&self, i: usize) -> bool {
        self.proto.output.get(i).is_some_and(|name| !name.is_empty())
    }

    /// The number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// The tensor of an input that must be known now, if it is there.
    pub fn known(&self, i: usize) -> Result<Option<Tensor>> {
        let Some(val) = self.opt_val(i) else { return Ok(None) };
        val.tensor().map(Some).ok_or_else(|| not_known(i))
    }

    /// The integers of an input that must be known now, if it is there.
    pub fn known_ints(&self, i: usize) -> Result<Option<Vec<i64>>> {
        match self.known(i)? {
            None => Ok(None),
            Some(tensor) => tensor.cast(DType::I64)?.to_vec::<i64>().map(Some),
        }
    }

    /// The floats of an input that must be known now, if it is there.
    pub fn known_floats(&self, i: usize) -> Result<Option<Vec<f64>>> {
        Ok(self.known(i)?.map(|tensor| tensor.to_f64s()))
    }

    /// The one number of an input that must be known now, if it is there.
    pub fn known_number(&self, i: usize) -> Result<Option<f64>> {
        let numbers = self.known_floats(i)?;
        Ok(numbers.and_then(|numbers| numbers.first().copied()))
    }

    /// Integers of an input, which may depend on sizes; a value that only the run can know gives
    /// sizes that only the run knows, which are never negative.
    pub fn wholes(&self, i: usize) -> Result<Vec<Whole>> {
        let val = self.val(i)?;
        if let Some(Sizes { items, .. }) = val.sizes() {
            return Ok(items);
        }
        let var = val.var()?;
        let items = elements(&var).map_err(|_| not_known(i))?;
        items.iter().map(|item| Ok(Whole::from(ops::of_size(item)?.ty().dim(0)))).collect()
    }

    /// [`wholes`](Node::wholes) as sizes.
    pub fn dims(&self, i: usize) -> Result<Vec<Dim>> {
        self.wholes(i)?.into_iter().map(Whole::dim).collect()
    }

    /// Integers that were an attribute in old op sets and are an input since.
    pub fn ints_of(&self, name: &str, i: usize) -> Result<Option<Vec<i64>>> {
        match self.ints(name) {
            Some(ints) => Ok(Some(ints)),
            None => self.known_ints(i),
        }
    }

    /// An attribute.
    pub fn attr(&self, name: &str) -> Option<&AttributeProto> {
        let attr = self.proto.attribute.iter().find(|attr| attr.name == name)?;
        match attr.ref_attr_name.as_str() {
            "" => Some(attr),
            outer => self.env.attr(outer),
        }
    }

    /// An integer attribute, if it is there.
    pub fn opt_int(&self, name: &str) -> Option<i64> {
        self.attr(name).map(|attr| attr.i)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.opt_int(name).unwrap_or(default)
    }

    /// A flag.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name, default.into()) != 0
    }

    /// A float attribute, if it is there. It is the number that was written, in single precision.
    pub fn opt_float(&self, name: &str) -> Option<f64> {
        self.attr(name).map(|attr| f64::from(attr.f))
    }

    /// A float attribute.
    pub fn float(&self, name: &str, default: f64) -> f64 {
        self.opt_float(name).unwrap_or(f64::from(default as f32))
    }

    /// Integers, if the attribute is there.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).map(|attr| attr.ints.clone())
    }

    /// Floats, if the attribute is there.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        let floats = &self.attr(name)?.floats;
        Some(floats.iter().map(|&number| f64::from(number)).collect())
    }

    /// A string attribute.
    pub fn string(&self, name: &str, default: &str) -> String {
        match self.attr(name) {
            Some(attr) => String::from_utf8_lossy(&attr.s).into_owned(),
            None => default.to_string(),
        }
    }

    /// Strings, if the attribute is there.
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        let strings = &self.attr(name)?.strings;
        Some(strings.iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect())
    }

    /// A graph that must be there.
    pub fn graph(&self, name: &str) -> Result<&GraphProto> {
        let graph = self.attr(name).and_then(|attr| attr.g.as_ref());
        graph.ok_or_else(|| Error::argument(format!("its attribute `{name}` is missing")))
    }

    /// A tensor, if the attribute is there.
    pub fn tensor(&self, name: &str) -> Result<Option<Tensor>> {
        let tensor = self.attr(name).and_then(|attr| attr.t.as_ref());
        tensor.map(|tensor| tensors::tensor(tensor, self.importer.folder)).transpose()
    }

    /// An element type by its number, if the attribute is there.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>> {
        self.opt_int(name).map(types::dtype).transpose()
    }

    /// The axis, counted from the front.
    pub fn axis(&self, default: i64, rank: usize) -> Result<usize> {
        front(self.int("axis", default), rank)
    }

    /// What this cannot do, said of the attribute or input.
    pub fn refuse(&self, what: impl Into<String>) -> Error {
        Error::argument(what)
    }
}

/// The elements of a value without axes or with one of known size.
pub fn elements(var: &Var) -> Result<Vec<Var>> {
    let ty: Type = var.ty();
    match ty.dims() {
        [] => Ok(vec![var.clone()]),
        [dim] if dim.value().is_some_and(|size| size <= 64) => ops::unbind(var, 0),
        _ => Err(Error::symbolic(format!("the number of elements of {ty} is not known"))),
    }
}

fn not_known(i: usize) -> Error {
    Error::symbolic(format!("its input {i} must be known when the model is loaded"))
        .remedy("make it an initialiser, or give its value to `load` as a known input")
}
