//! Options that are functions.

use std::fmt;
use std::sync::Arc;

use fluvial_core::{Attr, Attribute, Error, Result, Var};

use super::{Callable, Value};
use crate::nn::Layer;

/// A name, and its function.
type Known = (&'static str, fn(&Var) -> Result<Var>);

/// An option that is a function of one value, given by name or as what it is.
#[derive(Clone)]
pub struct Function {
    /// The name; empty if it is not one of the known.
    pub name: &'static str,
    function: Arc<dyn Layer>,
}

impl Function {
    /// The function that has this name.
    pub fn named(name: &str) -> Option<Function> {
        let known: [Known; 8] = [
            ("relu", |x| fluvial_ops::relu(x)),
            ("gelu", |x| fluvial_ops::gelu(x, false)),
            ("silu", |x| fluvial_ops::silu(x)),
            ("tanh", |x| fluvial_ops::tanh(x)),
            ("sigmoid", |x| fluvial_ops::sigmoid(x)),
            ("selu", |x| fluvial_ops::selu(x)),
            ("mish", |x| fluvial_ops::mish(x)),
            ("relu6", |x| fluvial_ops::relu6(x)),
        ];
        let (name, function) = known.into_iter().find(|(known, _)| *known == name)?;
        Some(Function { name, function: Arc::new(function) })
    }

    /// The larger of the value and zero.
    pub fn relu() -> Function {
        Function::named("relu").unwrap_or_default()
    }

    /// Any function or layer.
    pub fn of(function: impl Layer + 'static) -> Function {
        Function { name: "", function: Arc::new(function) }
    }
}

impl Default for Function {
    fn default() -> Function {
        Function { name: "", function: Arc::new(|x: &Var| Ok(x.clone())) }
    }
}

impl Callable for Function {
    fn call(&self, inputs: &[Value], _named: &[(&str, Value)]) -> Result<Value> {
        let x = inputs.first().and_then(Value::tensor);
        let x = x.ok_or_else(|| Error::internal("a function of one value got none"))?;
        Ok(self.function.forward(x)?.into())
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        match (self.name, other.name) {
            ("", "") => Arc::ptr_eq(&self.function, &other.function),
            (a, b) => a == b,
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", if self.name.is_empty() { "a function" } else { self.name })
    }
}

impl Attribute for Function {
    const EXPECTED: &'static str = "a function, or the name of one, such as \"relu\"";

    fn to_attr(&self) -> Attr {
        Attr::Str(self.name.into())
    }

    fn from_attr(attr: &Attr) -> Option<Function> {
        match attr {
            Attr::Str(name) => Function::named(name),
            _ => None,
        }
    }
}
