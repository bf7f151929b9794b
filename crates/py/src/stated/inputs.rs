//! What a stated layer is called with, and what it gives.

use fluvial::core::{DType, Error, Result, Var};
use fluvial::nn::Kind;
use fluvial::nn::stated::{Callable, InputKind, Part, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::args::Arg;
use crate::parameter::Parameter;
use crate::sequence::{self, FEW};
use crate::tensor::Tensor;
use crate::{args, errors};

/// A layer or a function that an object of Python holds.
pub struct Held(pub Py<PyAny>);

impl Callable for Held {
    fn call(&self, inputs: &[Value], named: &[(&str, Value)]) -> Result<Value> {
        Python::attach(|py| {
            let objects = inputs.iter().map(|value| object(py, value.clone()));
            let objects = PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?;
            let by_name = PyDict::new(py);
            for (name, value) in named {
                by_name.set_item(name, object(py, value.clone())?)?;
            }
            value_of(&self.0.bind(py).call(objects, Some(&by_name))?)
        })
        .map_err(errors::callback)
    }
}

/// What a layer of Python's gave.
fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match object.cast::<PyTuple>() {
        Ok(several) => {
            let values = several.iter().map(|one| value_of(&one));
            Ok(Value::Many(values.collect::<PyResult<_>>()?))
        }
        Err(_) if object.is_none() => Ok(Value::None),
        Err(_) => Ok(args::var(object)?.into()),
    }
}

/// What a layer has under the name of a part.
pub fn part(
    layer: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    parameters: Option<&Bound<'_, PyDict>>,
    buffers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<Part>> {
    for held in [parameters, buffers].into_iter().flatten() {
        if let Some(found) = held.get_item(name)?
            && let Ok(parameter) = found.cast::<Parameter>()
        {
            return Ok(Some(Part::Parameter(parameter.get().inner.clone())));
        }
    }
    match layer.getattr(name) {
        Ok(found) if found.is_none() => Ok(None),
        Ok(found) => Ok(Some(Part::Value(args::var(&found)?))),
        Err(error) if error.is_instance_of::<PyAttributeError>(layer.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The inputs of a call, in the order in which they are stated.
pub fn taken(
    py: Python<'_>,
    kind: Kind,
    inputs: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Value>> {
    let wrong = |what: String| {
        let shown = kind.inputs.iter().map(|input| match (input.name, input.takes) {
            (name, "") => name.to_string(),
            (name, "Off") => format!("{name}=False"),
            (name, "On") => format!("{name}=True"),
            (name, _) => format!("{name}=None"),
        });
        let shown: Vec<String> = shown.collect();
        let error = Error::new(fluvial::core::ErrorKind::Arity, what);
        errors::raise(py, error.remedy(format!("call it as layer({})", shown.join(", "))))
    };
    if inputs.len() > kind.inputs.len() {
        let n = kind.inputs.len();
        return Err(wrong(format!("`{}` takes {n} inputs, found {}", kind.name, inputs.len())));
    }
    let mut given: Vec<Option<Bound<'_, PyAny>>> = inputs.iter().map(Some).collect();
    given.resize(kind.inputs.len(), None);
    for (name, value) in named.into_iter().flatten() {
        let name = name.extract::<String>()?;
        let is_it = |input: &InputKind| input.name == name || input.others.contains(&&*name);
        let Some(at) = kind.inputs.iter().position(is_it) else {
            return Err(wrong(format!("`{}` has no input `{name}`", kind.name)));
        };
        if given[at].is_some() {
            return Err(wrong(format!("`{}` got `{name}` twice", kind.name)));
        }
        given[at] = Some(value);
    }
    let mut found = Vec::with_capacity(given.len());
    for (value, InputKind { name, takes, .. }) in given.into_iter().zip(kind.inputs) {
        let value = value.filter(|value| !value.is_none());
        found.push(match (value, *takes) {
            (Some(value), "Off" | "On") => Given::Value(Value::Bool(value.is_truthy()?)),
            (None, "On") => Given::Value(Value::Bool(true)),
            (None, "") => {
                return Err(wrong(format!("`{}` needs the input `{name}`", kind.name)));
            }
            (None, _) => Given::Value(Value::None),
            (Some(value), "Sizes") => {
                let sizes = sequence::read(&value, FEW, |_, one| one.extract::<usize>())?;
                Given::Value(Value::Sizes(sizes))
            }
            (Some(value), "Pair") => {
                let pair = sequence::read(&value, FEW, |_, one| Ok(args::var(&one)?.into()))?;
                Given::Value(Value::Many(pair))
            }
            (Some(value), _) => match Arg::expect(&value)? {
                Arg::Value(value) => Given::Value(value.into()),
                number => Given::Number(number),
            },
        });
    }
    let dtypes = found.iter().filter_map(|given| match given {
        Given::Value(value) => value.tensor().map(Var::dtype),
        Given::Number(_) => None,
    });
    let like = dtypes.reduce(DType::promote);
    let resolved = found.into_iter().map(|given| match given {
        Given::Value(value) => Ok(value),
        Given::Number(number) => number.into_var(py, like).map(Value::from),
    });
    resolved.collect()
}

/// An input; a number takes the element type of the others.
enum Given {
    Value(Value),
    Number(Arg),
}

/// What Python sees of a value.
pub fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_bound_py_any(py)?,
        Value::Sizes(sizes) => PyTuple::new(py, sizes)?.into_any(),
        Value::Tensor(value) => Bound::new(py, Tensor::new(value))?.into_any(),
        Value::Many(several) => {
            let several: Vec<_> =
                several.into_iter().map(|one| object(py, one)).collect::<PyResult<_>>()?;
            PyTuple::new(py, several)?.into_any()
        }
    })
}
