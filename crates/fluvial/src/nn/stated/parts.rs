//! What a layer is made of: as stated, and as found at a call.

use fluvial_core::{DType, Error, Result, Var};

use crate::init::Initializer;
use crate::nn::Parameter;

/// The parameters and buffers that a layer states, in order.
#[derive(Debug, Default)]
pub struct Parts(pub Vec<Declared>);

/// A parameter or buffer as it is stated.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The name, which is its attribute and the last part of its key.
    pub name: String,
    /// What users say of it comes under this name; empty if they cannot.
    pub attr: &'static str,
    /// The sizes, or nothing if the first call gives them.
    pub dims: Option<Vec<usize>>,
    /// The element type, if it is not that of the layer.
    pub dtype: Option<DType>,
    /// The initial value, unless the user says another one.
    pub init: Initializer,
    /// Whether it is a buffer.
    pub is_buffer: bool,
}

impl Parts {
    /// States a parameter. `attr` is the argument under which users say something of it.
    pub fn parameter(
        &mut self,
        name: impl Into<String>,
        attr: &'static str,
        dims: impl Into<Option<Vec<usize>>>,
        init: Initializer,
    ) {
        let (name, dims) = (name.into(), dims.into());
        self.0.push(Declared { name, attr, dims, dtype: None, init, is_buffer: false });
    }

    /// States a buffer; without an element type it has that of the layer.
    pub fn buffer(
        &mut self,
        name: impl Into<String>,
        dims: &[usize],
        dtype: Option<DType>,
        init: Initializer,
    ) {
        let (name, dims) = (name.into(), Some(dims.to_vec()));
        self.0.push(Declared { name, attr: "", dims, dtype, init, is_buffer: true });
    }
}

/// What stands at the place of a parameter or buffer when the layer is called.
#[derive(Clone, Debug)]
pub enum Part {
    /// A parameter or a buffer.
    Parameter(Parameter),
    /// A plain value, which somebody has put there.
    Value(Var),
}

impl Part {
    /// Its value, in both modes.
    pub fn get(&self) -> Result<Var> {
        match self {
            Part::Parameter(parameter) => parameter.get(),
            Part::Value(value) => value.clone().check(),
        }
    }

    /// Assigns it, in both modes.
    pub fn set(&self, value: &Var) -> Result<()> {
        match self {
            Part::Parameter(parameter) => parameter.set(value),
            Part::Value(_) => Err(Error::state("a plain value stands where a layer keeps a state")
                .remedy("put a `Buffer` or a `Parameter` there")),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Part::Parameter(parameter) => parameter.dtype(),
            Part::Value(value) => value.dtype(),
        }
    }
}
