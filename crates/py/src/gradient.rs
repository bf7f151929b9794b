//! Gradients.

use fluvial::core::{self, Error, GradOptions, Result, Sum, Var};
use fluvial::ops;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::tensor::Tensor;
use crate::{args, call, errors};

/// Gradients of the sum of `outputs` with respect to `wrt`, in both modes.
///
/// Args:
///     outputs: A scalar tensor, or several.
///     wrt: A tensor, or several; each must be one that the outputs depend on.
///     grad_outputs: By output: what its gradient begins with, of its shape; for outputs that are not scalars. None stands for one.
///     create_graph: Record the gradients, so that they can be differentiated again.
///     retain_graph: Keep what was recorded, for another call.
///     allow_unused: Give None for what the outputs do not depend on, instead of an error.
///     constants: Tensors on the way that count as constants: no gradient passes them.
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
#[pyo3(signature = (outputs, wrt, *, grad_outputs=None, create_graph=false, retain_graph=false, allow_unused=false, constants=None))]
fn grad<'py>(
    outputs: &Bound<'py, PyAny>,
    wrt: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    create_graph: bool,
    retain_graph: bool,
    allow_unused: bool,
    constants: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = outputs.py();
    let (outputs, _) = one_or_many(outputs)?;
    let (wrt, single) = one_or_many(wrt)?;
    let (constants, _) = constants.map_or(Ok((Vec::new(), false)), one_or_many)?;
    let seeds = seeds(grad_outputs, outputs.len())?;
    let options = GradOptions { create_graph, retain_graph };
    let found = call::run_long(py, || {
        let (outputs, wrt): (Vec<&Var>, Vec<&Var>) =
            (outputs.iter().collect(), wrt.iter().collect());
        let constants: Vec<&Var> = constants.iter().collect();
        let seeds: Vec<Option<&Var>> = seeds.iter().map(Option::as_ref).collect();
        let found = core::vjp_perhaps(&outputs, &seeds, &wrt, &constants, options)?;
        let is_lost =
            |(i, sum): (usize, &Option<Sum>)| (sum.is_none() && !allow_unused).then_some(i);
        let of_lines = outputs.iter().all(|y| is_apart(y));
        match found.iter().enumerate().find_map(is_lost) {
            Some(i) => Ok(Err((core::unreached(i, wrt[i]), of_lines || is_apart(wrt[i])))),
            None => Ok(Ok(found)),
        }
    })?;
    let found = found.map_err(|(error, of_lines)| {
        let error = errors::raise(py, error.at(fluvial::core::scope::user_line()));
        if of_lines {
            let _ = error.value(py).setattr("_fl_of_lines", true);
        }
        error
    })?;
    let mut grads = Vec::with_capacity(found.len());
    for (i, sum) in found.into_iter().enumerate() {
        grads.push(match sum {
            None => py.None().into_bound(py),
            Some(Sum { var, present: None }) => Bound::new(py, Tensor::new(var))?.into_any(),
            Some(Sum { var, present: Some(present) }) => {
                let error = (!allow_unused).then(|| core::unreached(i, &wrt[i]));
                perhaps(py, var, present.flag, error)?
            }
        });
    }
    match single {
        true => Ok(grads.remove(0)),
        false => grads.into_bound_py_any(py),
    }
}

/// `var.backward()`. An error that the lines have as well says so.
pub fn backward(
    py: Python<'_>,
    var: &Var,
    seed: Option<&Var>,
    options: GradOptions,
) -> PyResult<()> {
    call::run_long(py, || var.backward_with(seed, options)).inspect_err(|error| {
        if is_apart(var) {
            let _ = error.value(py).setattr("_fl_of_lines", true);
        }
    })
}

/// Whether a value of the program being built has no gradient in any run, since it depends on nothing that is tracked.
fn is_apart(var: &Var) -> bool {
    var.is_symbolic() && !var.is_leaf() && core::is_reached(var) == Some(false)
}

/// A gradient of which only the run knows whether there is one: None where there is none, or an error.
pub fn perhaps<'py>(
    py: Python<'py>,
    grad: Var,
    flag: Var,
    error: Option<Error>,
) -> PyResult<Bound<'py, PyAny>> {
    let error = error.map(|error| errors::raise(py, error.at(fluvial::core::scope::user_line())));
    let module = py.import("fluvial._convert.perhaps")?;
    module.getattr("gradient")?.call1((Tensor::new(grad), Tensor::new(flag), error))
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
    grad(totals.as_any(), wrt, None, false, false, false, None)
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

    /// Forgets those that are not there behind the program, after a run.
    fn settle(&self) {
        self.0.settle();
    }

    /// Which of them there are, before a run.
    fn present(&self) -> Vec<bool> {
        self.0.present()
    }

    /// Leaves what the lines before the fault have left, after a run that failed.
    ///
    /// Args:
    ///     before: What `present` gave before it.
    ///     told: What `left_behind` gave.
    fn settle_failed(
        &self,
        py: Python<'_>,
        before: Vec<bool>,
        told: Vec<(String, Bound<'_, Tensor>)>,
    ) {
        let value = |(name, tensor): &(String, Bound<'_, Tensor>)| {
            Some((name.as_str().into(), tensor.get().var(py).value().ok()?.clone()))
        };
        self.0.settle_failed(&before, &told.iter().filter_map(value).collect::<Vec<_>>());
    }
}

/// The gradient of a leaf outside, for a program that it is an input of.
#[pyclass(frozen, module = "fluvial._core")]
struct LeafGradient(core::Cell);

#[pymethods]
impl LeafGradient {
    /// Whether the program has to do with it.
    fn is_among(&self, gradients: &Gradients) -> bool {
        gradients.0.concern(&self.0)
    }

    /// Brings it to the program, before a run.
    fn bring(&self, py: Python<'_>, leaf: &Tensor) {
        self.0.set_grad(leaf.var(py).grad());
    }

    /// Takes it from the program, behind a run.
    fn take(&self, py: Python<'_>, leaf: &Tensor) {
        leaf.var(py).set_grad(self.0.grad());
        self.0.set_grad(None);
    }
}

/// Has an input of the program being built be a leaf, if the tensor is one that it stands for.
///
/// Args:
///     input: The input.
///     tensor: The tensor.
///
/// Returns:
///     The gradient of the leaf, or nothing.
#[pyfunction]
fn leaf_input(py: Python<'_>, input: &Tensor, tensor: &Tensor) -> PyResult<Option<LeafGradient>> {
    let (input, var) = (input.var(py), tensor.var(py));
    core::inputs_are_said();
    if !var.is_leaf() {
        if var.is_tracked() {
            core::tracked_input(&input, &var);
        }
        return Ok(None);
    }
    let cell = core::leaf_input(&input, &var).map_err(|error| crate::errors::raise(py, error))?;
    Ok(Some(LeafGradient(cell)))
}

/// Whether the program being built leaves gradients in leaves.
#[pyfunction]
fn goes_back() -> bool {
    core::Gradients::are_left()
}

/// The gradients of parameters that the program being built asks for and leaves behind, if any.
#[pyfunction]
fn program_gradients() -> Option<Gradients> {
    let found = core::Gradients::of_program();
    (!found.is_empty()).then_some(Gradients(found))
}

/// The hooks on leaves and parameters that are a part of the ways back of a program.
#[pyclass(frozen, module = "fluvial._core")]
struct LeafHooks(core::LeafHooks);

#[pymethods]
impl LeafHooks {
    /// Whether the leaves have the same hooks now.
    fn hold(&self) -> bool {
        self.0.hold()
    }
}

/// The hooks that are a part of the program being built, if gradients of leaves are taken in it.
#[pyfunction]
fn program_hooks() -> Option<LeafHooks> {
    let found = core::LeafHooks::of_program();
    (!found.is_empty()).then_some(LeafHooks(found))
}

/// What a backward pass of the program being built has freed behind an output.
#[pyclass(frozen, module = "fluvial._core")]
struct FreedBy(core::FreedBy);

#[pymethods]
impl FreedBy {
    /// The output of a run with a history that is freed, if it has one.
    fn mark<'py>(&self, tensor: &Bound<'py, Tensor>) -> PyResult<Bound<'py, Tensor>> {
        let (py, var) = (tensor.py(), tensor.get().var(tensor.py()));
        match var.is_tracked() && !var.is_leaf() {
            true => Bound::new(py, Tensor::new(self.0.mark(&var))),
            false => Ok(tensor.clone()),
        }
    }
}

/// What a backward pass of the program being built has freed behind a value; None for nothing.
#[pyfunction]
fn freed_behind(py: Python<'_>, tensor: &Tensor) -> Option<FreedBy> {
    core::freed_behind(&tensor.var(py)).map(FreedBy)
}

/// What `grad` of a tensor is: the gradient that a leaf has, or the gradients of a computed value of a program.
pub fn of_value<'py>(tensor: &Bound<'py, Tensor>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, var) = (tensor.py(), tensor.get().var(tensor.py()));
    if var.is_symbolic()
        && let Some((grad, flag)) =
            core::grad_of_run(&var).map_err(|error| errors::raise(py, error))?
    {
        return perhaps(py, grad, flag, None).map(Some);
    }
    if let Some(grad) = var.grad() {
        let grad = grad.check().map_err(|error| errors::raise(py, error))?;
        return Ok(Some(Bound::new(py, Tensor::of_grad(grad, tensor.as_any()))?.into_any()));
    }
    if !var.is_symbolic() || var.is_leaf() || core::follows_lines() {
        return Ok(None);
    }
    Ok(Some(Bound::new(py, GradientOf(var))?.into_any()))
}

/// What the gradients of outputs begin with.
fn seeds(given: Option<&Bound<'_, PyAny>>, n_outputs: usize) -> PyResult<Vec<Option<Var>>> {
    let Some(given) = given else { return Ok(vec![None; n_outputs]) };
    if let Ok(tensor) = given.cast::<Tensor>() {
        return Ok(vec![Some(tensor.get().var(given.py()))]);
    }
    let seed = |part: PyResult<Bound<'_, PyAny>>| {
        let part = part?;
        if part.is_none() { Ok(None) } else { args::var(&part).map(Some) }
    };
    given.try_iter()?.map(seed).collect()
}

/// A value of its own that a tensor is seen as: a leaf, or, where the tensor has a history or belongs to a program,
/// one from which gradients go on to it.
#[pyfunction]
fn alias(py: Python<'_>, tensor: &Bound<'_, Tensor>) -> PyResult<Tensor> {
    let var = tensor.get().var(py);
    let made = call::run(py, &[&var], || match var.is_symbolic() || var.is_tracked() {
        true => ops::shape::assume_dims(&var, &var.dims()),
        false => var.track(),
    });
    made.map(Tensor::new)
}

/// Whether tensors depend on a leaf that is none of these.
#[pyfunction]
fn leads_beyond(
    py: Python<'_>,
    tensors: Vec<Bound<'_, Tensor>>,
    leaves: Vec<Bound<'_, Tensor>>,
) -> bool {
    let vars = |all: &[Bound<'_, Tensor>]| -> Vec<Var> {
        all.iter().map(|tensor| tensor.get().var(py)).collect()
    };
    let (values, own) = (vars(&tensors), vars(&leaves));
    core::leads_beyond(&values.iter().collect::<Vec<_>>(), &own.iter().collect::<Vec<_>>())
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
    module.add_class::<LeafGradient>()?;
    module.add_class::<LeafHooks>()?;
    module.add_class::<FreedBy>()?;
    module.add_function(wrap_pyfunction!(program_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(freed_behind, module)?)?;
    module.add_function(wrap_pyfunction!(leaf_input, module)?)?;
    module.add_function(wrap_pyfunction!(goes_back, module)?)?;
    module.add_function(wrap_pyfunction!(program_gradients, module)?)?;
    module.add_function(wrap_pyfunction!(history, module)?)?;
    module.add_function(wrap_pyfunction!(alias, module)?)?;
    module.add_function(wrap_pyfunction!(leads_beyond, module)?)
}
