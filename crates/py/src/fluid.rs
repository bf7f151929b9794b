//! Programs of Fluid's own: see `fluvial.fluid.load_program`.

use std::path::PathBuf;

use fluvial_bridge::fluid::{self, Options};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::program::Program;
use crate::tensor::Tensor;
use crate::types::TypeArg;
use crate::{call, errors};

/// A program: the path of its file, or its bytes.
#[derive(FromPyObject)]
enum Source {
    Bytes(Vec<u8>),
    Path(PathBuf),
}

fn options(fetch: Vec<String>, trainable: bool, types: Vec<(String, TypeArg)>) -> Options {
    let types = types.into_iter().map(|(name, ty)| (name, ty.0)).collect();
    Options { fetch, trainable, types, ..Options::default() }
}

/// The program of two serialized ones: see `fl.fluid.load_program`.
#[pyfunction]
fn read_fluid_program(
    py: Python<'_>,
    main: Source,
    startup: Option<Source>,
    fetch: Vec<String>,
    types: Vec<(String, TypeArg)>,
    values: Vec<(String, Bound<'_, Tensor>)>,
) -> PyResult<Program> {
    let mut options = options(fetch, false, types);
    for (name, value) in values {
        let tensor = value.get().var(py).tensor().cloned();
        options.values.push((name, tensor.map_err(|error| errors::raise(py, error))?));
    }
    let both = "give both programs as files, or both as bytes";
    let program = match (main, startup) {
        (Source::Path(main), None) => {
            call::run_attached(py, || fluid::load_program(&main, None, &options))
        }
        (Source::Path(main), Some(Source::Path(startup))) => {
            call::run_attached(py, || fluid::load_program(&main, Some(&startup), &options))
        }
        (Source::Bytes(main), None) => {
            call::run_attached(py, || fluid::program_from_bytes(&main, None, &options))
        }
        (Source::Bytes(main), Some(Source::Bytes(startup))) => {
            call::run_attached(py, || fluid::program_from_bytes(&main, Some(&startup), &options))
        }
        _ => return Err(PyTypeError::new_err(both)),
    }?;
    Program::new(py, Ok(program))
}

/// The program of a model with its parameters: see `fl.fluid.load_inference_model`.
#[pyfunction]
fn read_fluid_model(
    py: Python<'_>,
    path: PathBuf,
    params: Option<PathBuf>,
    fetch: Vec<String>,
    trainable: bool,
    types: Vec<(String, TypeArg)>,
) -> PyResult<Program> {
    let options = options(fetch, trainable, types);
    let program =
        call::run_attached(py, || fluid::load_inference_model(&path, params.as_deref(), &options))?;
    Program::new(py, Ok(program))
}

/// Whether bytes may be a program of Fluid's own.
#[pyfunction]
fn is_fluid_program(data: Vec<u8>) -> bool {
    fluid::is_program(&data)
}

/// The ops of Fluid that can be read, and what is refused of each.
#[pyfunction]
fn fluid_ops() -> Vec<(&'static str, &'static str)> {
    fluid::supported()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_fluid_program, module)?)?;
    module.add_function(wrap_pyfunction!(read_fluid_model, module)?)?;
    module.add_function(wrap_pyfunction!(is_fluid_program, module)?)?;
    module.add_function(wrap_pyfunction!(fluid_ops, module)?)
}
