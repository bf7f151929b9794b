//! Gradients.

use fluvial::core::{self, GradOptions, Result, Var};
use fluvial::ops;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::tensor::Tensor;
use crate::{args, call};

/// Gradients of the sum of `outputs` with respect to `wrt`, in both modes.
///
/// Args:
///     outputs: A scalar tensor, or several.
///     wrt: A tensor, or several; each must be one that the outputs depend on.
///     create_graph: Record the gradients, so that they can be differentiated again.
///     retain_graph: Keep what was recorded, for another call.
///     allow_unused: Give None for what the outputs do not depend on, instead of an error.
///
/// Returns:
///     One gradient, or a list of them if `wrt` is a sequence.
///
/// Example:
///     >>> x, y = fl.tensor(3.0).track(), fl.tensor(1.0).track()
///     >>> fl.grad(x * x, x).item()
///     6.0
///     >>> fl.grad(x * x, [x, y], allow_unused=True)[1] is None
///     True
#[pyfunction]
#[pyo3(signature = (outputs, wrt, *, create_graph=false, retain_graph=false, allow_unused=false))]
fn grad<'py>(
    outputs: &Bound<'py, PyAny>,
    wrt: &Bound<'py, PyAny>,
    create_graph: bool,
    retain_graph: bool,
    allow_unused: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = outputs.py();
    let (outputs, _) = one_or_many(outputs)?;
    let (wrt, single) = one_or_many(wrt)?;
    let options = GradOptions { create_graph, retain_graph };
    let mut grads = call::run_long(py, || {
        let (outputs, wrt): (Vec<&Var>, Vec<&Var>) =
            (outputs.iter().collect(), wrt.iter().collect());
        match allow_unused {
            true => core::vjp(&outputs, &vec![None; outputs.len()], &wrt, options),
            false => Ok(core::grad_with(&outputs, &wrt, options)?.into_iter().map(Some).collect()),
        }
    })?;
    match single {
        true => grads.remove(0).map(Tensor::new).into_bound_py_any(py),
        false => grads
            .into_iter()
            .map(|grad| grad.map(Tensor::new))
            .collect::<Vec<_>>()
            .into_bound_py_any(py),
    }
}

/// The gradients of a value of a program being built: `y.grad(wrt=[a, b])`.
#[pyclass(frozen, module = "fluvial._core")]
pub struct GradientOf(pub Var);

#[pymethods]
impl GradientOf {
    /// The gradients of the sum of the value.
    ///
    /// Args:
    ///     wrt: A tensor, or several.
    fn __call__<'py>(&self, wrt: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = wrt.py();
        let outputs = Bound::new(py, Tensor::new(self.0.clone()))?;
        gradients(outputs.as_any(), wrt)
    }

    fn __repr__(&self) -> String {
        format!("<gradients of {}: call it with wrt=[...]>", self.0.ty())
    }
}

/// Gradients of the sum of all elements of `outputs` with respect to `wrt`, in both modes.
///
/// Args:
///     outputs: A tensor of any shape, or several.
///     wrt: A tensor, or several.
///
/// Returns:
///     One gradient, or a list of them if `wrt` is a sequence.
///
/// Example:
///     >>> x = fl.tensor([1.0, 2.0]).track()
///     >>> fl.gradients(x * x, [x])[0].tolist()
///     [2.0, 4.0]
#[pyfunction]
fn gradients<'py>(
    outputs: &Bound<'py, PyAny>,
    wrt: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = outputs.py();
    let (outputs, _) = one_or_many(outputs)?;
    let total = |x: &Var| if x.rank() == 0 { Ok(x.clone()) } else { ops::sum(x, &[], false) };
    let totals = call::run(py, &[], || outputs.iter().map(total).collect::<Result<Vec<_>>>())?;
    let totals = PyList::new(py, totals.into_iter().map(Tensor::new))?;
    grad(totals.as_any(), wrt, false, false, false)
}

/// Why no gradient of `output` reaches `wrt`, both values of the program being built.
///
/// Args:
///     output: The loss.
///     wrt: A tensor that it should depend on.
///
/// Returns:
///     What keeps the gradient away, as text; None if nothing does.
///
/// Example:
///     >>> with fl.building() as b:
///     ...     x = b.input("x", "f32[n]")
///     ...     print(fl.why_no_gradient(fl.sum(x.detach()), x).split(" at ")[0])
///     ...     b.output("y", x)
///     `stop_gradient`
#[pyfunction]
fn why_no_gradient(output: &Bound<'_, Tensor>, wrt: &Bound<'_, Tensor>) -> Option<String> {
    let py = output.py();
    let cut = core::why_no_gradient(&output.get().var(py), &wrt.get().var(py));
    cut.map(|cut| cut.to_string())
}

/// The names of the ops that are recorded behind a tensor, the latest first. A compiled function is one of them,
/// `program`.
///
/// Args:
///     tensor: A computed tensor.
#[pyfunction]
fn history(tensor: &Bound<'_, Tensor>) -> Vec<&'static str> {
    core::history(&tensor.get().var(tensor.py()))
}

/// The gradients of parameters that a program asks for and leaves behind.
#[pyclass(frozen, module = "fluvial._core")]
struct Gradients(core::Gradients);

#[pymethods]
impl Gradients {
    /// Whether parameters have gradients now where they had some when the program was built.
    fn hold(&self) -> bool {
        self.0.hold()
    }

    /// Forgets those that the program has zeroed, after a run.
    fn settle(&self) {
        self.0.settle();
    }
}

/// The gradients of parameters that the program being built asks for and leaves behind, if any.
#[pyfunction]
fn program_gradients() -> Option<Gradients> {
    let found = core::Gradients::of_program();
    (!found.is_empty()).then_some(Gradients(found))
}

fn one_or_many(object: &Bound<'_, PyAny>) -> PyResult<(Vec<Var>, bool)> {
    match object.cast::<Tensor>() {
        Ok(tensor) => Ok((vec![tensor.get().var(object.py())], true)),
        Err(_) => Ok((args::many(object)?, false)),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(grad, module)?)?;
    module.add_function(wrap_pyfunction!(gradients, module)?)?;
    module.add_function(wrap_pyfunction!(why_no_gradient, module)?)?;
    module.add_class::<Gradients>()?;
    module.add_function(wrap_pyfunction!(program_gradients, module)?)?;
    module.add_function(wrap_pyfunction!(history, module)?)
}
