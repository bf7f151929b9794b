//! Blocks opened and closed one call at a time, for code that is rewritten to build programs.

use std::cell::Cell;

use fluvial::core::structural::Read;
use fluvial::core::{self, Traced, Type, Var};
use fluvial::ops;
use fluvial::ops::batch::Randomness;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::args;
use crate::call;
use crate::errors;
use crate::program::Program;
use crate::tensor::{Stands, Tensor};
use crate::types::TypeArg;

/// A closed block, to be used once by `cond_of` or `while_of`.
#[pyclass(unsendable, module = "fluvial._core")]
pub struct Block {
    traced: Cell<Option<Traced>>,
    /// Which of its results stand for Python numbers.
    numbers: Vec<Stands>,
}

impl Block {
    pub fn take(&self) -> PyResult<Traced> {
        self.traced.take().ok_or_else(|| PyValueError::new_err("the block was used already"))
    }
}

#[pymethods]
impl Block {
    /// The block with some of its results, in this order.
    fn select(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<Block> {
        let traced = self.take()?.select(&numbers).map_err(|error| errors::raise(py, error))?;
        let numbers = numbers.iter().map(|&number| self.numbers[number]).collect();
        Ok(Block { traced: Cell::new(Some(traced)), numbers })
    }
}

/// Opens a block inside the program being built.
///
/// Args:
///     types: The types of its parameters. For a number the parameter is one, too.
///
/// Returns:
///     The parameters.
#[pyfunction]
fn begin_block(py: Python<'_>, types: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Tensor>> {
    let numbers = numbers(&types);
    let types = types.iter().map(|ty| Ok(ty.extract::<TypeArg>()?.0));
    let types: Vec<Type> = types.collect::<PyResult<_>>()?;
    let params = call::run(py, &[], || core::begin_block(&types))?;
    Ok(standing(numbers, params))
}

/// Which objects stand for Python numbers.
pub fn numbers(objects: &[Bound<'_, PyAny>]) -> Vec<Stands> {
    let stands = |object: &Bound<'_, PyAny>| match object.cast::<Tensor>() {
        Ok(tensor) => tensor.get().stands(object.py()),
        Err(_) => Stands::Itself,
    };
    objects.iter().map(stands).collect()
}

/// Values as the tensors or numbers that they stand for.
pub fn standing(stands: Vec<Stands>, values: Vec<Var>) -> Vec<Tensor> {
    stands.into_iter().zip(values).map(|(stands, value)| Tensor::standing(stands, value)).collect()
}

/// The value as it is carried: a number keeps its precision.
pub fn carried(object: &Bound<'_, PyAny>) -> PyResult<Var> {
    match object.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().var(object.py())),
        Err(_) => args::var(object),
    }
}

/// Closes the block opened last, also if it raises.
///
/// Args:
///     results: What the block returns.
#[pyfunction]
fn end_block(py: Python<'_>, results: Vec<Bound<'_, PyAny>>) -> PyResult<Block> {
    let numbers = numbers(&results);
    let results: PyResult<Vec<Var>> = results.iter().map(carried).collect();
    let results = results.inspect_err(|_| core::abort_block())?;
    let traced = call::run_attached(py, || core::end_block(&results.iter().collect::<Vec<_>>()))?;
    Ok(Block { traced: Cell::new(Some(traced)), numbers })
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
    let both = then.numbers.iter().zip(&otherwise.numbers).map(|pair| match pair {
        (Stands::Itself, _) | (_, Stands::Itself) => Stands::Itself,
        (Stands::Number, Stands::Number) => Stands::Number,
        _ => Stands::Either,
    });
    let both = both.collect();
    let (first, second) = (then.take()?, otherwise.take()?);
    let results = call::run_attached(py, || ops::cond_of(&pred, first, second))?;
    Ok(standing(both, results))
}

/// A block that may fail; see `fluvial_ops::attempt_of`.
///
/// Args:
///     body: The block.
///     otherwise: What gives its results where it has failed and no note says them.
///     key: What its notes are called.
///     caught: The numbers of the faults that do not end the run.
///
/// Returns:
///     The number of the fault, or 0, and the results.
#[pyfunction]
fn attempt_of(
    py: Python<'_>,
    body: &Block,
    otherwise: &Block,
    key: &str,
    caught: Vec<i64>,
) -> PyResult<(Tensor, Vec<Tensor>)> {
    let numbers = body.numbers.clone();
    let (first, second) = (body.take()?, otherwise.take()?);
    let mut results =
        call::run_attached(py, || ops::control::attempt_of(first, second, key, &caught))?;
    let number = Tensor::new(results.remove(0));
    Ok((number, standing(numbers, results)))
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
    let numbers = numbers(&init);
    let init = init.iter().map(carried).collect::<PyResult<Vec<Var>>>()?;
    let body = body.take()?;
    let refs: Vec<&Var> = init.iter().collect();
    let results = call::run_attached(py, || ops::while_of(&first, &refs, body))?;
    Ok(standing(numbers, results))
}

/// Applies a block without parameters whose gradient computes its values again; see `fluvial_ops::control::checkpoint_of`.
///
/// Args:
///     body: The block.
#[pyfunction]
fn checkpoint_of(py: Python<'_>, body: &Block) -> PyResult<Vec<Tensor>> {
    let (numbers, traced) = (body.numbers.clone(), body.take()?);
    let results = call::run_attached(py, || ops::control::checkpoint_of(traced))?;
    Ok(standing(numbers, results))
}

/// Opens a block for one element of a batch inside the program being built.
///
/// Args:
///     tensors: What it is to be applied to.
///     batched: Which of them have the axis of the batch, in front.
///
/// Returns:
///     The parameters.
#[pyfunction]
fn begin_map(
    py: Python<'_>,
    tensors: Vec<Bound<'_, Tensor>>,
    batched: Vec<bool>,
) -> PyResult<Vec<Tensor>> {
    let vars: Vec<Var> = tensors.iter().map(|tensor| tensor.get().var(py)).collect();
    let element = |(var, &batched): (&Var, &bool)| match batched {
        true => core::element_type(&var.ty()),
        false => Ok(var.ty()),
    };
    let params = call::run(py, &[], || {
        let types = vars.iter().zip(&batched).map(element).collect::<core::Result<Vec<_>>>()?;
        core::begin_block(&types)
    })?;
    Ok(params.into_iter().map(Tensor::new).collect())
}

/// What a batched block gives: results, which of them are batched, and what runs element by element, by op and line.
type PyMapped = (Vec<Tensor>, Vec<bool>, Vec<(&'static str, String)>);

/// Applies a block that `begin_map` has opened; see `fluvial_ops::batch::vmap_of`.
///
/// Args:
///     body: The block.
///     tensors: What it is applied to.
///     batched: Which of them have the axis of the batch, in front.
///     randomness: What draws mean: "error", "different" or "same".
#[pyfunction]
fn vmap_of(
    py: Python<'_>,
    body: &Block,
    tensors: Vec<Bound<'_, Tensor>>,
    batched: Vec<bool>,
    randomness: &str,
) -> PyResult<PyMapped> {
    let vars: Vec<Var> = tensors.iter().map(|tensor| tensor.get().var(py)).collect();
    let randomness = match randomness {
        "different" => Randomness::Different,
        "same" => Randomness::Same,
        _ => Randomness::Refused,
    };
    let traced = body.take()?;
    let mapped = call::run_attached(py, || {
        let batch = vars.iter().zip(&batched).find(|(_, batched)| **batched);
        let Some((first, _)) = batch else {
            return Err(core::Error::argument("nothing is batched"));
        };
        ops::batch::vmap_of(traced, &vars, &batched, first.ty().dim(0), randomness)
    })?;
    let results = mapped.results.into_iter().map(Tensor::new).collect();
    let looped = mapped.looped.into_iter().map(|(op, loc)| (op, loc.to_string())).collect();
    Ok((results, mapped.batched, looped))
}

/// A program that computes values of the program being built from its inputs, and changes nothing. Building goes on.
///
/// Args:
///     values: Its outputs, in this order.
///     checks: Whether it has to fail where the one being built may fail so far. What such calls give are further outputs, and
///         so are conditions that have to hold, which are called `holds` and a number.
#[pyfunction]
#[pyo3(signature = (values, checks=false))]
fn program_of(py: Python<'_>, values: Vec<Bound<'_, PyAny>>, checks: bool) -> PyResult<Program> {
    let values = values.iter().map(carried).collect::<PyResult<Vec<Var>>>()?;
    let names: Vec<String> = (0..values.len()).map(|i| format!("out{i}")).collect();
    let outputs: Vec<(&str, &Var)> = names.iter().map(String::as_str).zip(&values).collect();
    let made = core::snapshot_program(&outputs).and_then(|mut program| {
        let failing = program.main.calls.iter().zip(program.main.failing_calls());
        let failing = failing.filter(|(call, fails)| checks && **fails && call.n_outputs > 0);
        let further: Vec<_> = failing.map(|(call, _)| call.first_output).collect();
        let is_assert =
            |call: &&core::Call| checks && call.op.downcast::<ops::host::Assert>().is_some();
        let asserts = program.main.calls.iter().filter(is_assert);
        let conditions: Vec<_> = asserts.filter_map(|call| call.inputs.first().copied()).collect();
        for (name, ids) in [("check", further), ("holds", conditions)] {
            for (number, id) in ids.into_iter().enumerate() {
                program.main.results.push(id);
                program.outputs.push(format!("{name}{number}").into());
            }
        }
        let names: Vec<_> = program.outputs.clone();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let program = program.without_effects(&names)?;
        let changes =
            |call: &core::Call| call.op.properties().effect && call.op.downcast::<Read>().is_none();
        match program.main.calls.iter().any(changes) {
            true => Err(core::Error::program("a test depends on a block with an effect")),
            false => Ok(program),
        }
    });
    Program::new(py, made)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Block>()?;
    module.add_function(wrap_pyfunction!(begin_block, module)?)?;
    module.add_function(wrap_pyfunction!(end_block, module)?)?;
    module.add_function(wrap_pyfunction!(abort_block, module)?)?;
    module.add_function(wrap_pyfunction!(cond_of, module)?)?;
    module.add_function(wrap_pyfunction!(attempt_of, module)?)?;
    module.add_function(wrap_pyfunction!(while_of, module)?)?;
    module.add_function(wrap_pyfunction!(begin_map, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint_of, module)?)?;
    module.add_function(wrap_pyfunction!(vmap_of, module)?)?;
    module.add_function(wrap_pyfunction!(program_of, module)?)
}
