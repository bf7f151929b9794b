//! Updates of parameters by one kernel.

use fluvial::core::Var;
use fluvial::optim;
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::{args, call};

/// The new values of a rule, line by line, or None if it has to be computed op by op: of the parameter, and of
/// what the rule remembers. The bits are the same.
///
/// Args:
///     rule: "adam", "momentum" or "descent".
///     inputs: Parameter, gradient, what is remembered, rate, and what parameters share.
///     numbers: The numbers of the rule.
#[pyfunction]
fn update_at_once(
    py: Python<'_>,
    rule: &str,
    inputs: &Bound<'_, PyAny>,
    numbers: Vec<f64>,
) -> PyResult<Option<Vec<Tensor>>> {
    let inputs = args::many(inputs)?;
    let inputs: Vec<&Var> = inputs.iter().collect();
    if inputs.iter().any(|input| input.is_symbolic()) {
        return Ok(None);
    }
    let results = call::run(py, &inputs, || optim::update_at_once(rule, &inputs, &numbers))?;
    Ok(results.map(|results| results.into_iter().map(Tensor::new).collect()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(update_at_once, module)?)
}
