//! Files of states and models.

use std::path::PathBuf;

use fluvial::core::{self, Error, Role, State as CoreState, Tensor as CoreTensor};
use fluvial::data::{files, safetensors};
use fluvial::io::{self, Load};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::program::Program;
use crate::state::{State, role_named};
use crate::tensor::Tensor;
use crate::{args, call, errors};

/// What was loaded, and what was not.
#[pyclass(frozen, module = "fluvial", name = "Loaded", get_all)]
struct Loaded {
    /// The states that have got a value.
    names: Vec<String>,
    /// The wanted ones that the file does not have.
    missing: Vec<String>,
    /// Those of the file that were not wanted.
    unexpected: Vec<String>,
}

#[pymethods]
impl Loaded {
    fn __repr__(&self) -> String {
        let Loaded { names, missing, unexpected } = self;
        let (names, missing) = (names.clone(), missing.clone());
        format!("Loaded({})", io::Loaded { names, missing, unexpected: unexpected.clone() })
    }
}

fn scope(state: Option<&Bound<'_, State>>) -> CoreState {
    state.map_or_else(core::state::current, |state| state.get().0.clone())
}

/// Calls `f` with the way from keys of a file to names of states: a dict, a function, or nothing.
fn renamed<R>(
    rename: Option<&Bound<'_, PyAny>>,
    f: impl FnOnce(Option<&dyn Fn(&str) -> Option<String>>) -> PyResult<R>,
) -> PyResult<R> {
    let Some(rename) = rename else { return f(None) };
    let failed = std::cell::RefCell::new(None);
    let name_of = |key: &str| -> Option<String> {
        let name = match rename.cast::<PyDict>() {
            Ok(names) => match names.get_item(key) {
                Ok(None) => return Some(key.to_string()),
                Ok(Some(name)) => Ok(name),
                Err(error) => Err(error),
            },
            Err(_) => rename.call1((key,)),
        };
        match name.and_then(|name| name.extract()) {
            Ok(name) => name,
            Err(error) => {
                failed.borrow_mut().get_or_insert(error);
                None
            }
        }
    };
    let result = f(Some(&name_of));
    match failed.take() {
        Some(error) => Err(error),
        None => result,
    }
}

/// Writes states to a `.safetensors` file, whole or not at all.
///
/// Those of the scope are written, and those of living layers and optimizers that are listed there.
///
/// Args:
///     path: The file.
///     roles: Which: "parameter", "buffer", "optimizer", "counter", "random"; all by default.
///     state: The scope; by default the one of the thread.
///
/// Example:
///     >>> import os, tempfile
///     >>> path = os.path.join(tempfile.mkdtemp(), "all.safetensors")
///     >>> with fl.State():
///     ...     w = fl.parameter("w", (2,), init=1.0)
///     ...     fl.save_states(path, roles=["parameter"])
///     >>> with fl.State() as other:
///     ...     fl.load_states(path)
///     Loaded(1 states)
///     >>> other["w"].tolist()
///     [1.0, 1.0]
#[pyfunction]
#[pyo3(signature = (path, roles=None, *, state=None))]
fn save_states(
    py: Python<'_>,
    path: PathBuf,
    roles: Option<Vec<String>>,
    state: Option<&Bound<'_, State>>,
) -> PyResult<()> {
    let roles = roles.map(|roles| roles.iter().map(|role| role_named(role)).collect());
    let roles: Vec<Role> = roles.transpose()?.unwrap_or(Role::ALL.to_vec());
    let scope = scope(state);
    call::run_long(py, || io::save_states(&path, &scope, &roles))
}

/// Reads states from a `.safetensors` file: of ours, or of others.
///
/// States of the scope, and those of living layers and optimizers that are listed there, get the
/// values of the file; those that it does not have yet are added, and wait for the layer that will
/// have them. Nothing is changed if anything does not fit, and the error tells of everything that
/// does not.
///
/// Args:
///     path: The file.
///     names: The states that are wanted: those of a program, say. By default all of the file; those
///         of the scope that the file lacks keep their value.
///     rename: Names in the file to names of states: a dict, or a function, which gives None for what
///         is left out.
///     strict: Whether wanted states that the file lacks are an error.
///     cast: Whether another element type is converted.
///     state: The scope; by default the one of the thread.
#[pyfunction]
#[pyo3(signature = (path, *, names=None, rename=None, strict=true, cast=false, state=None))]
fn load_states(
    py: Python<'_>,
    path: PathBuf,
    names: Option<Vec<String>>,
    rename: Option<&Bound<'_, PyAny>>,
    strict: bool,
    cast: bool,
    state: Option<&Bound<'_, State>>,
) -> PyResult<Loaded> {
    let scope = scope(state);
    let names: Option<Vec<&str>> = names.as_ref().map(|n| n.iter().map(String::as_str).collect());
    renamed(rename, |rename| {
        let load = Load { names: names.as_deref(), rename, strict, cast, ..Load::default() };
        let loaded = call::run_attached(py, || io::load_states(&path, &scope, load))?;
        let io::Loaded { names, missing, unexpected } = loaded;
        Ok(Loaded { names, missing, unexpected })
    })
}

/// Saves a program with its parameters and buffers: see `fl.save_model`.
#[pyfunction]
fn write_model(py: Python<'_>, path: PathBuf, program: &Bound<'_, Program>) -> PyResult<()> {
    let program = program.get().core(py)?;
    let state = core::state::current();
    call::run_long(py, || io::save_model(&path, &program, &state))
}

/// The program of a model, which owns its states: see `fl.load_model`.
#[pyfunction]
#[pyo3(signature = (path, rename=None, cast=false))]
fn read_model(
    py: Python<'_>,
    path: PathBuf,
    rename: Option<&Bound<'_, PyAny>>,
    cast: bool,
) -> PyResult<Program> {
    renamed(rename, |rename| {
        let load = Load { rename, cast, ..Load::default() };
        let loaded = call::run_attached(py, || io::load_model_with(&path, &CoreState::new(), load));
        Program::new(py, Ok(loaded?))
    })
}

/// The tensors of a `.safetensors` file.
///
/// Args:
///     path: The file.
#[pyfunction]
fn read_safetensors(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let shown = path.display().to_string();
    let contents = call::run_long(py, || {
        let file = std::fs::File::open(&path).map_err(|error| files::io(&shown, error))?;
        let len = file.metadata().map_err(|error| files::io(&shown, error))?.len();
        safetensors::read_all(&mut std::io::BufReader::new(file), len, &shown)
    })?;
    let tensors = PyDict::new(py);
    for (name, tensor) in contents.tensors {
        tensors.set_item(name, Tensor::new(core::Var::new(tensor)))?;
    }
    Ok(tensors)
}

/// The tensors of a file or folder of others: see `fl.load_weights`.
#[pyfunction]
fn read_weights(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let loaded = call::run_long(py, || fluvial_bridge::weights::load(&path))?;
    let tensors = PyDict::new(py);
    for (name, tensor) in loaded {
        tensors.set_item(name, Tensor::new(core::Var::new(tensor)))?;
    }
    Ok(tensors)
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
    let states = core::building_states().map_err(|error: Error| errors::raise(py, error))?;
    Ok(states.iter().map(|(name, decl)| (name.to_string(), decl.role.name())).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Loaded>()?;
    module.add_function(wrap_pyfunction!(save_states, module)?)?;
    module.add_function(wrap_pyfunction!(load_states, module)?)?;
    module.add_function(wrap_pyfunction!(write_model, module)?)?;
    module.add_function(wrap_pyfunction!(read_model, module)?)?;
    module.add_function(wrap_pyfunction!(building_states, module)?)?;
    module.add_function(wrap_pyfunction!(read_safetensors, module)?)?;
    module.add_function(wrap_pyfunction!(read_weights, module)?)?;
    module.add_function(wrap_pyfunction!(write_safetensors, module)?)
}
