//! The call of a layer: what comes in, and what goes out.

use std::sync::Arc;

use fluvial_core::{Error, Result, Var};

use super::function::Function;
use super::parts::Part;

/// An input or an output of a layer.
#[derive(Clone, Debug)]
pub enum Value {
    /// An optional input that was not given.
    None,
    /// A switch.
    Bool(bool),
    /// Sizes of the output.
    Sizes(Vec<usize>),
    /// A value.
    Tensor(Var),
    /// Several.
    Many(Vec<Value>),
}

impl From<Var> for Value {
    fn from(value: Var) -> Value {
        Value::Tensor(value)
    }
}

impl From<&Var> for Value {
    fn from(value: &Var) -> Value {
        Value::Tensor(value.clone())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Option<&Var>> for Value {
    fn from(value: Option<&Var>) -> Value {
        value.map_or(Value::None, Value::from)
    }
}

impl<A: Into<Value>, B: Into<Value>> From<(A, B)> for Value {
    fn from((a, b): (A, B)) -> Value {
        Value::Many(vec![a.into(), b.into()])
    }
}

impl Value {
    /// The value, if it is one.
    pub fn tensor(&self) -> Option<&Var> {
        match self {
            Value::Tensor(value) => Some(value),
            _ => None,
        }
    }

    /// The two values that a layer has given.
    pub fn into_two(self) -> Result<(Value, Value)> {
        let wrong = || Error::internal("a layer of two outputs gave others");
        let Value::Many(two) = self else { return Err(wrong()) };
        let [a, b] = <[Value; 2]>::try_from(two).map_err(|_| wrong())?;
        Ok((a, b))
    }

    /// The two tensors that a layer has given.
    pub fn into_pair(self) -> Result<(Var, Var)> {
        let (a, b) = self.into_two()?;
        Ok((a.into_tensor()?, b.into_tensor()?))
    }

    /// The one value that a layer has given.
    pub fn into_tensor(self) -> Result<Var> {
        match self {
            Value::Tensor(value) => Ok(value),
            _ => Err(Error::internal("a layer of one output gave another")),
        }
    }
}

/// What a layer calls within itself: a layer, or a function.
pub trait Callable: Send + Sync {
    /// The output for inputs by position and by name.
    fn call(&self, inputs: &[Value], named: &[(&str, Value)]) -> Result<Value>;
}

/// What a layer has when it is called.
pub struct Call<'a> {
    /// The names of its parameters and buffers, and what stands there.
    pub parts: &'a [(&'a str, Option<Part>)],
    /// The names of layers and functions within it, and what stands there.
    pub layers: &'a [(&'a str, Arc<dyn Callable>)],
    /// The inputs, as many as stated.
    pub inputs: &'a [Value],
    /// Whether it behaves as in training.
    pub training: bool,
}

impl Call<'_> {
    /// The first input.
    pub fn x(&self) -> Result<&Var> {
        self.input(0)
    }

    /// An input that is always given.
    pub fn input(&self, i: usize) -> Result<&Var> {
        self.given(i).ok_or_else(|| Error::argument(format!("input {i} of a layer is missing")))
    }

    /// An input that may be left out.
    pub fn given(&self, i: usize) -> Option<&Var> {
        self.inputs.get(i).and_then(Value::tensor)
    }

    /// The values of a pair that may be left out.
    pub fn pair(&self, i: usize) -> (Option<&Var>, Option<&Var>) {
        match self.inputs.get(i) {
            Some(Value::Many(pair)) => {
                (pair.first().and_then(Value::tensor), pair.get(1).and_then(Value::tensor))
            }
            _ => (None, None),
        }
    }

    /// A switch.
    pub fn flag(&self, i: usize) -> bool {
        matches!(self.inputs.get(i), Some(Value::Bool(true)))
    }

    /// Sizes that may be left out.
    pub fn sizes(&self, i: usize) -> &[usize] {
        match self.inputs.get(i) {
            Some(Value::Sizes(sizes)) => sizes,
            _ => &[],
        }
    }

    /// What the layer within of this name makes of an input.
    pub fn within(&self, name: &str, x: &Var) -> Result<Var> {
        self.layer(name)?.call(&[x.into()], &[])?.into_tensor()
    }

    /// The layer within of this name.
    pub fn layer(&self, name: &str) -> Result<&dyn Callable> {
        self.found(name).ok_or_else(|| {
            Error::state(format!("the layer has no `{name}` any more"))
                .remedy(format!("assign a layer to `{name}`"))
        })
    }

    /// A function: what stands at its name, else the one of the options.
    pub fn function<'b>(&'b self, name: &str, option: &'b Function) -> &'b dyn Callable {
        self.found(name).unwrap_or(option)
    }

    fn found(&self, name: &str) -> Option<&dyn Callable> {
        let found = self.layers.iter().find(|(known, _)| *known == name);
        found.map(|(_, layer)| &**layer)
    }

    /// A part, or nothing if it was left out or taken away.
    pub fn part(&self, name: &str) -> Option<&Part> {
        let found = self.parts.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, part)| part.as_ref())
    }

    /// The value of a part that is needed.
    pub fn value(&self, name: &str) -> Result<Var> {
        self.needed(name)?.get()
    }

    /// A part that is needed.
    pub fn needed(&self, name: &str) -> Result<&Part> {
        self.part(name).ok_or_else(|| {
            Error::state(format!("the layer has no `{name}` any more"))
                .remedy(format!("assign a `Parameter` or a tensor to `{name}`"))
        })
    }

    /// The value of a part that may be missing.
    pub fn optional(&self, name: &str) -> Result<Option<Var>> {
        self.part(name).map(Part::get).transpose()
    }
}
