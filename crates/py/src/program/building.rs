//! Functions that begin and end programs, for `fl.building` and `fl.function`.

use fluvial::core::{self, Var};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Program;
use crate::tensor::Tensor;
use crate::types::{ShapeArg, TypeArg, type_of};
use crate::{args, call, drafts, errors};

/// Begins a program: from here on, ops of this thread are appended to it. `fl.building` calls it.
#[pyfunction]
fn begin_program() {
    core::begin_program();
}

/// An input of the program being built.
///
/// Args:
///     name: Its name.
///     type: Its type, or its element type if `shape` is given.
///     shape: Its sizes: ints and names of symbols.
#[pyfunction]
#[pyo3(signature = (name, r#type, shape=None))]
fn program_input(
    name: &str,
    r#type: &Bound<'_, PyAny>,
    shape: Option<ShapeArg>,
) -> PyResult<Tensor> {
    let py = r#type.py();
    let ty = match shape {
        Some(shape) => type_of(py, r#type.extract()?, &shape)?,
        None => r#type.extract::<TypeArg>()?.0,
    };
    call::run(py, &[], || core::program_input(name, ty)).map(Tensor::new)
}

/// Ends the program begun last, also if it raises.
///
/// Args:
///     outputs: Its outputs by name.
#[pyfunction]
fn end_program(outputs: &Bound<'_, PyDict>) -> PyResult<Program> {
    let py = outputs.py();
    let output = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract()?, args::var(&value)?))
    };
    let named: PyResult<Vec<(String, Var)>> = outputs.iter().map(output).collect();
    let named = named.inspect_err(|_| core::abort_program())?;
    let outputs: Vec<(&str, &Var)> = named.iter().map(|(name, var)| (&**name, var)).collect();
    // No guard may live across the end, which puts the mode back.
    Program::new(py, core::end_program(&outputs))
}

/// Gives up the program begun last, and the blocks open inside it.
#[pyfunction]
fn abort_program() {
    core::abort_program();
}

/// Leaves the program entered last. `fl.program_guard` calls it.
#[pyfunction]
fn leave_program(py: Python<'_>) -> PyResult<()> {
    drafts::leave().map_err(|error| errors::raise(py, error))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(begin_program, module)?)?;
    module.add_function(wrap_pyfunction!(program_input, module)?)?;
    module.add_function(wrap_pyfunction!(end_program, module)?)?;
    module.add_function(wrap_pyfunction!(leave_program, module)?)?;
    module.add_function(wrap_pyfunction!(abort_program, module)?)
}
