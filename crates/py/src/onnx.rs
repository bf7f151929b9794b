//! ONNX models: see `fluvial.onnx`.

use std::path::PathBuf;

use fluvial_bridge::onnx::{self, Options, SaveOptions};
use pyo3::prelude::*;

use crate::program::Program;
use crate::tensor::Tensor;
use crate::types::TypeArg;
use crate::{call, errors};

/// A model: the path of its file, or its bytes.
#[derive(FromPyObject)]
enum Source {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

/// The program of a model: see `fl.onnx.load`.
#[pyfunction]
fn read_onnx(
    py: Python<'_>,
    source: Source,
    trainable: bool,
    types: Vec<(String, TypeArg)>,
    known: Vec<(String, Bound<'_, Tensor>)>,
) -> PyResult<Program> {
    let types = types.into_iter().map(|(name, ty)| (name, ty.0)).collect();
    let tensor = |value: &Bound<'_, Tensor>| {
        let var = value.get().var(py);
        var.tensor().cloned().map_err(|error| errors::raise(py, error))
    };
    let known = known.iter().map(|(name, value)| Ok((name.clone(), tensor(value)?)));
    let options = Options { trainable, types, known: known.collect::<PyResult<_>>()? };
    let program = call::run_attached(py, || match &source {
        Source::Path(path) => onnx::load(path, &options),
        Source::Bytes(bytes) => onnx::load_bytes(bytes, &options),
    })?;
    Program::new(py, Ok(program))
}

/// Writes a program as a model: see `fl.onnx.save`.
#[pyfunction]
fn write_onnx(
    py: Python<'_>,
    path: PathBuf,
    program: &Bound<'_, Program>,
    opset: i64,
    states: bool,
) -> PyResult<()> {
    let program = program.get().core(py)?;
    call::run_attached(py, || onnx::save(&path, &program, SaveOptions { opset, states }))
}

/// The ops of ours that can be written.
#[pyfunction]
fn onnx_exported() -> Vec<&'static str> {
    onnx::exported()
}

/// The ops of ONNX that can be read: domain, name, the op set since which there is one, what is refused.
#[pyfunction]
fn onnx_ops() -> Vec<(&'static str, &'static str, i64, &'static str)> {
    onnx::supported().iter().map(|op| (op.domain, op.name, op.since, op.refuses)).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_onnx, module)?)?;
    module.add_function(wrap_pyfunction!(write_onnx, module)?)?;
    module.add_function(wrap_pyfunction!(onnx_exported, module)?)?;
    module.add_function(wrap_pyfunction!(onnx_ops, module)?)
}
