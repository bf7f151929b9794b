//! What programs do outside themselves: Python functions that they call by name, and files.

use std::path::PathBuf;
use std::sync::Arc;

use fluvial::core::{Error, Result, Tensor as CoreTensor, Var};
use fluvial::ops;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::tensor::Tensor;
use crate::{args, errors};

/// Gives a Python function a name under which `host_call` and programs of this process call it.
///
/// Args:
///     name: The name; a later function of the same name replaces an earlier one.
///     function: Called with tensors, returns a tensor or several.
///
/// Example:
///     >>> fl.register_host("double", lambda x: fl.tensor(x.numpy() * 2))
///     >>> fl.host_call("double", [fl.tensor(3.0)], ["f32[]"])[0].item()
///     6.0
#[pyfunction]
fn register_host(name: &str, function: Py<PyAny>) {
    ops::register_host(name, move |inputs| {
        Python::attach(|py| call(function.bind(py), inputs).map_err(errors::callback))?
    });
}

fn call(function: &Bound<'_, PyAny>, inputs: &[CoreTensor]) -> PyResult<Result<Vec<CoreTensor>>> {
    let py = function.py();
    let tensors = inputs.iter().map(|tensor| Tensor::new(Var::new(tensor.clone())));
    let returned = function.call1(PyTuple::new(py, tensors)?)?;
    let is_group = returned.is_instance_of::<PyTuple>() || returned.is_instance_of::<PyList>();
    let outputs = match is_group {
        true => args::many(&returned)?,
        false => vec![args::var(&returned)?],
    };
    Ok(outputs.iter().map(|var| var.tensor().cloned()).collect::<Result<_, Error>>())
}

/// Lets the functions `save` and `load` touch files below a folder, in the whole process. They name files
/// relative to it and cannot leave it, so that a program from elsewhere is safe to run.
///
/// Args:
///     path: The folder; None, as at the start, forbids it.
///
/// Example:
///     >>> import tempfile
///     >>> fl.set_root(tempfile.mkdtemp())
///     >>> fl.save("one.npy", [fl.tensor([1.0])], [])
///     >>> fl.load("one.npy", None, "f32[1]").tolist()
///     [1.0]
///     >>> fl.set_root(None)
#[pyfunction]
fn set_root(path: Option<PathBuf>) {
    fluvial::data::files::set_root(path.as_deref());
}

/// Runs the command line, and returns its exit code.
///
/// Args:
///     args: The words, the name of the command first.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<String>) -> u8 {
    py.detach(|| fluvial_cli::status(args))
}

/// Writes what a program prints to `sys.stdout`, as Python's `print` does; to the standard output of the
/// process where Python cannot.
fn print(text: &str) {
    let write = |py: Python<'_>| py.import("builtins")?.call_method1("print", (text,)).map(drop);
    if !matches!(Python::try_attach(write), Some(Ok(()))) {
        println!("{text}");
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ops::set_printer(Some(Arc::new(print)));
    module.add_function(wrap_pyfunction!(command_line, module)?)?;
    module.add_function(wrap_pyfunction!(register_host, module)?)?;
    module.add_function(wrap_pyfunction!(set_root, module)?)
}
