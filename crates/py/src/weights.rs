//! Files of tensors by name.

use std::path::PathBuf;

use fluvial::core::{self, Tensor as CoreTensor, Var};
use fluvial::data::{files, safetensors};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::tensor::Tensor;
use crate::{args, call, errors};

/// The tensors of a `.safetensors` file, and its notes.
///
/// Args:
///     path: The file.
#[pyfunction]
fn read_safetensors(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Bound<'_, PyDict>, Bound<'_, PyDict>)> {
    let shown = path.display().to_string();
    let contents = call::run_long(py, || {
        let file = std::fs::File::open(&path).map_err(|error| files::io(&shown, error))?;
        let len = file.metadata().map_err(|error| files::io(&shown, error))?.len();
        safetensors::read_all(&mut std::io::BufReader::new(file), len, &shown)
    })?;
    let (tensors, notes) = (PyDict::new(py), PyDict::new(py));
    for (name, tensor) in contents.tensors {
        tensors.set_item(name, Tensor::new(Var::new(tensor)))?;
    }
    for (name, text) in contents.notes {
        notes.set_item(name, text)?;
    }
    Ok((tensors, notes))
}

/// Writes a `.safetensors` file, whole or not at all.
///
/// Args:
///     path: The file.
///     tensors: Tensors by name.
///     notes: Texts by name.
#[pyfunction]
#[pyo3(signature = (path, tensors, notes=None))]
fn write_safetensors(
    py: Python<'_>,
    path: PathBuf,
    tensors: &Bound<'_, PyDict>,
    notes: Option<Vec<(String, String)>>,
) -> PyResult<()> {
    let mut named: Vec<(String, CoreTensor)> = Vec::new();
    for (name, value) in tensors.iter() {
        let tensor = args::var(&value)?.tensor().cloned();
        named.push((name.extract()?, tensor.map_err(|error| errors::raise(py, error))?));
    }
    let notes = notes.unwrap_or_default();
    call::run_long(py, || {
        let tensors: Vec<(&str, &CoreTensor)> =
            named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let notes: Vec<(&str, &str)> =
            notes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let shown = path.display().to_string();
        files::write_at(&path, |to| safetensors::write_noted(to, &tensors, &notes, &shown))
    })
}

/// The states of the program being built, and their roles.
#[pyfunction]
fn building_states(py: Python<'_>) -> PyResult<Vec<(String, &'static str)>> {
    let states = core::building_states().map_err(|error| errors::raise(py, error))?;
    Ok(states.iter().map(|(name, decl)| (name.to_string(), decl.role.name())).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(building_states, module)?)?;
    module.add_function(wrap_pyfunction!(read_safetensors, module)?)?;
    module.add_function(wrap_pyfunction!(write_safetensors, module)?)
}
