//! What a layer is made of: as stated, and as found at a call.

use std::sync::Arc;

use fluvial_core::{DType, Error, Result, Var};

use super::{AnyStatement, Statement};
use crate::init::Initializer;
use crate::nn::Parameter;

/// What a layer states: its parameters and buffers, then the layers within it, each in order.
#[derive(Debug, Default)]
pub struct Parts {
    /// Parameters and buffers.
    pub own: Vec<Declared>,
    /// Layers within it.
    pub layers: Vec<Within>,
}

/// A layer within another, as it is stated. What is said of parameters of the outer one under some name
/// is said of its own under the same name.
#[derive(Clone, Debug)]
pub struct Within {
    /// The name, which is its attribute and a part of its keys.
    pub name: &'static str,
    /// Its options.
    pub options: Arc<dyn AnyStatement>,
    /// Initial values of its parameters in place of those that it states.
    pub inits: Inits,
}

/// Initial values by the names of parameters.
pub type Inits = Vec<(&'static str, Initializer)>;

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
        self.own.push(Declared { name, attr, dims, dtype: None, init, is_buffer: false });
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
        self.own.push(Declared { name, attr: "", dims, dtype, init, is_buffer: true });
    }
}

impl Within {
    /// With this initial value of the parameter `part`.
    pub fn init(&mut self, part: &'static str, init: Initializer) {
        self.inits.push((part, init));
    }
}

impl Parts {
    /// States a layer within.
    pub fn layer(&mut self, name: &'static str, options: impl Statement) -> &mut Within {
        let options = Arc::new(options);
        self.layers.push(Within { name, options, inits: Vec::new() });
        let last = self.layers.len() - 1;
        &mut self.layers[last]
    }

    /// The parts with other initial values.
    #[must_use]
    pub fn with_inits(mut self, inits: &Inits) -> Parts {
        for (part, init) in inits {
            let found = self.own.iter_mut().filter(|own| own.name == *part);
            found.for_each(|own| own.init = init.clone());
        }
        self
    }

    /// What parameters and buffers are like, here and within, as a text to compare.
    pub fn text(&self) -> Result<String> {
        let mut text = format!("{:?}", self.own);
        for within in &self.layers {
            text += &format!("; {}: {}", within.name, within.options.declare()?.text()?);
        }
        Ok(text)
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
