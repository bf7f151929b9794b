//! The samples of the ops, for the tests of the Python package.

use fluvial::core::{
    Attr, Error, Expect, Result, Sample, Tensor as CoreTensor, Value, Var, bind, no_grad,
};
use fluvial::ops;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors;
use crate::sizes::whole_object;
use crate::tensor::Tensor;
use crate::types::dtype_object;

/// The samples of all ops: pairs of a name and a list of (attributes, inputs, kind, expected). The kind is
/// "outputs" with tensors, "refused" with a part of the message, or "agreement" with None.
#[pyfunction]
fn op_samples(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for def in ops::registry().defs() {
        let samples = (def.samples)().into_iter().map(|sample| described(py, &sample));
        all.append((def.name, PyList::new(py, samples.collect::<PyResult<Vec<_>>>()?)?))?;
    }
    Ok(all)
}

fn described<'py>(py: Python<'py>, sample: &Sample) -> PyResult<Bound<'py, PyTuple>> {
    let attributes = PyDict::new(py);
    for (name, attr) in sample.op.attrs().iter() {
        attributes.set_item(name, attribute(py, attr)?)?;
    }
    let (kind, expected) = match &sample.expect {
        Expect::Outputs(outputs) => ("outputs", tensors(py, outputs)?.into_any()),
        Expect::Scalar(reference) => {
            let expected = of_elements(sample, *reference);
            let expected = expected.map_err(|error| errors::raise(py, error))?;
            ("outputs", tensors(py, &[expected.into()])?.into_any())
        }
        Expect::Refused(text) => ("refused", text.into_bound_py_any(py)?),
        Expect::Agreement => ("agreement", py.None().into_bound(py)),
    };
    let inputs = tensors(py, &sample.inputs)?.into_any();
    PyTuple::new(py, [attributes.into_any(), inputs, kind.into_bound_py_any(py)?, expected])
}

fn tensors<'py>(py: Python<'py>, values: &[Value]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, values.iter().map(|value| Tensor::new(Var::new(value.clone()))))
}

/// The reference of an elementwise op on the elements of the inputs, which are broadcast.
fn of_elements(sample: &Sample, reference: fn(&[f64]) -> f64) -> Result<CoreTensor> {
    let _no_grad = no_grad();
    let inputs: Vec<Var> = sample.inputs.iter().cloned().map(Var::new).collect();
    let outputs = bind(&sample.op, &inputs.iter().collect::<Vec<_>>())?;
    let like =
        outputs.first().ok_or_else(|| Error::internal("an elementwise op without output"))?;
    let like = like.tensor()?;
    let columns =
        sample.inputs.iter().map(|input| Ok(input.tensor()?.expand(like.dims())?.to_f64s()));
    let columns = columns.collect::<Result<Vec<Vec<f64>>>>()?;
    let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
    let numbers: Vec<f64> = (0..like.numel()).map(|i| reference(&row(i))).collect();
    CoreTensor::from_f64s(like.dtype(), &numbers, like.dims())
}

/// An attribute as Python writes it; a block as its text.
fn attribute<'py>(py: Python<'py>, attr: &Attr) -> PyResult<Bound<'py, PyAny>> {
    match attr {
        Attr::None => Ok(py.None().into_bound(py)),
        Attr::Bool(value) => value.into_bound_py_any(py),
        Attr::Int(value) => value.into_bound_py_any(py),
        Attr::Float(value) => value.into_bound_py_any(py),
        Attr::Str(value) => (&**value).into_bound_py_any(py),
        Attr::Dim(dim) => whole_object(py, (*dim).into()),
        Attr::DType(dtype) => dtype_object(*dtype).into_bound_py_any(py),
        Attr::Type(ty) => ty.to_string().into_bound_py_any(py),
        Attr::Tensor(tensor) => Tensor::new(Var::new(tensor.clone())).into_bound_py_any(py),
        Attr::List(attrs) => {
            let attrs = attrs.iter().map(|attr| attribute(py, attr));
            attrs.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
        }
        Attr::Block(block) => format!("{block:?}").into_bound_py_any(py),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(op_samples, module)?)
}
