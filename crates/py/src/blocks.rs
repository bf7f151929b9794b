//! Blocks opened and closed one call at a time, for code that is rewritten to build programs.

use std::cell::Cell;

use fluvial::core::{self, Traced, Type, Var};
use fluvial::ops;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::args;
use crate::call;
use crate::errors;
use crate::tensor::Tensor;
use crate::types::TypeArg;

/// A closed block, to be used once by `cond_of` or `while_of`.
#[pyclass(unsendable, module = "fluvial._core")]
pub struct Block(Cell<Option<Traced>>);

impl Block {
    pub fn take(&self) -> PyResult<Traced> {
        self.0.take().ok_or_else(|| PyValueError::new_err("the block was used already"))
    }
}

#[pymethods]
impl Block {
    /// Keeps some of the results, in this order.
    fn select(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<()> {
        let traced = self.take()?.select(&numbers).map_err(|error| errors::raise(py, error))?;
        self.0.set(Some(traced));
        Ok(())
    }
}

/// Opens a block inside the program being built.
///
/// Args:
///     types: The types of its parameters.
///
/// Returns:
///     The parameters.
#[pyfunction]
fn begin_block(py: Python<'_>, types: Vec<TypeArg>) -> PyResult<Vec<Tensor>> {
    let types: Vec<Type> = types.into_iter().map(|ty| ty.0).collect();
    let params = call::run(py, &[], || core::begin_block(&types))?;
    Ok(params.into_iter().map(Tensor::new).collect())
}

/// Closes the block opened last, also if it raises.
///
/// Args:
///     results: What the block returns.
#[pyfunction]
fn end_block(py: Python<'_>, results: Vec<Bound<'_, PyAny>>) -> PyResult<Block> {
    let results: PyResult<Vec<Var>> = results.iter().map(args::var).collect();
    let results = results.inspect_err(|_| core::abort_block())?;
    let traced = call::run_attached(py, || core::end_block(&results.iter().collect::<Vec<_>>()))?;
    Ok(Block(Cell::new(Some(traced))))
}

/// Gives up the block opened last.
#[pyfunction]
fn abort_block() {
    core::abort_block();
}

/// One of two blocks without parameters, by a condition.
#[pyfunction]
fn cond_of(
    py: Python<'_>,
    pred: &Tensor,
    then: &Block,
    otherwise: &Block,
) -> PyResult<Vec<Tensor>> {
    let pred = pred.var(py);
    let (then, otherwise) = (then.take()?, otherwise.take()?);
    let results = call::run_attached(py, || ops::cond_of(&pred, then, otherwise))?;
    Ok(results.into_iter().map(Tensor::new).collect())
}

/// A loop over a block that returns the condition of the next trip and the next carried values.
#[pyfunction]
fn while_of(
    py: Python<'_>,
    first: &Tensor,
    init: Vec<Bound<'_, PyAny>>,
    body: &Block,
) -> PyResult<Vec<Tensor>> {
    let first = first.var(py);
    let init = init.iter().map(args::var).collect::<PyResult<Vec<Var>>>()?;
    let body = body.take()?;
    let refs: Vec<&Var> = init.iter().collect();
    let results = call::run_attached(py, || ops::while_of(&first, &refs, body))?;
    Ok(results.into_iter().map(Tensor::new).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Block>()?;
    module.add_function(wrap_pyfunction!(begin_block, module)?)?;
    module.add_function(wrap_pyfunction!(end_block, module)?)?;
    module.add_function(wrap_pyfunction!(abort_block, module)?)?;
    module.add_function(wrap_pyfunction!(cond_of, module)?)?;
    module.add_function(wrap_pyfunction!(while_of, module)?)
}
