//! Optimizers: settings and callbacks of Python around those of Rust.

use std::sync::{Arc, Mutex, PoisonError};

use fluvial::core::{self, Error, Mode, Result, Var};
use fluvial::optim::{self, AnyRule, Decay, Group, Optimizer as _, Param, Penalty, Rule as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::args::{self, Arg};
use crate::parameter::Parameter;
use crate::rule::{PyRule, setting_of, setting_to};
use crate::schedule::Schedule;
use crate::sequence::{self, List, MANY};
use crate::tensor::Tensor;
use crate::{call, errors, lines};

/// The part of an optimizer that is Rust.
#[pyclass(frozen, module = "fluvial", name = "Descent")]
pub struct Descent(Mutex<Arc<optim::Descent<AnyRule>>>);

impl Descent {
    fn get(&self) -> Arc<optim::Descent<AnyRule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change<R>(&self, f: impl FnOnce(&mut optim::Descent<AnyRule>) -> R) -> R {
        f(Arc::make_mut(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes it, unless what comes out makes no sense.
    fn try_change(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut optim::Descent<AnyRule>) -> Result<()>,
    ) -> PyResult<()> {
        let mut changed = (*self.get()).clone();
        let done = f(&mut changed).and_then(|()| changed.check());
        done.map_err(|error| errors::raise(py, error))?;
        self.change(|own| *own = changed);
        Ok(())
    }
}

/// A parameter for an optimizer: one of a layer, or a name.
pub fn param_of(object: &Bound<'_, PyAny>) -> PyResult<Param> {
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(Param::new(name.to_str()?));
    }
    let Ok(parameter) = object.cast::<Parameter>() else {
        return Err(PyTypeError::new_err(format!(
            "an optimizer cannot train {} {}\n  remedy: give `layer.parameters()`, layers, parameters (of a tensor, \
             `nn.Parameter(x)` makes one), or names of states",
            object.get_type().name()?,
            object.repr()?
        )));
    };
    let param = Param::from(parameter.get().inner.clone());
    let penalty = object.getattr("attr")?.getattr("regularizer")?;
    Ok(match penalty.is_none() {
        true => param,
        false => param.regularizer(penalty_of(&penalty)),
    })
}

fn params_of(objects: &Bound<'_, PyAny>) -> PyResult<Vec<Param>> {
    sequence::read(objects, sequence::MANY, |_, object| param_of(&object))
}

/// A penalty that Python computes.
fn penalty_of(object: &Bound<'_, PyAny>) -> Penalty {
    let object = object.clone().unbind();
    Penalty::new(move |grad, param| {
        Python::attach(|py| {
            let (grad, param) = (Tensor::new(grad.clone()), Tensor::new(param.clone()));
            let added = object.bind(py).call_method1("add_to", (grad, param));
            added.and_then(|added| args::var(&added)).map_err(errors::callback)
        })
    })
}

/// Runs `f` on an optimizer: other threads may run meanwhile, unless a program is built.
fn run<R: Send>(py: Python<'_>, f: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    match core::mode() {
        Mode::Building => call::run_attached(py, f),
        Mode::Imperative => call::run_long(py, f),
    }
}

/// How weight decay is applied, by name.
fn decay_named(py: Python<'_>, name: &str) -> PyResult<Decay> {
    match name {
        "coupled" => Ok(Decay::Coupled),
        "decoupled" => Ok(Decay::Decoupled),
        "rule" => Ok(Decay::ByRule),
        _ => {
            let error = Error::argument(format!("weight decay of kind `{name}`"));
            Err(errors::raise(py, error.remedy("coupled, decoupled or rule")))
        }
    }
}

fn decay_name(decay: Decay) -> &'static str {
    match decay {
        Decay::Coupled => "coupled",
        Decay::Decoupled => "decoupled",
        Decay::ByRule => "rule",
    }
}

#[pymethods]
impl Descent {
    #[new]
    #[pyo3(signature = (rule, parameters, name))]
    fn new(
        rule: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
        name: Option<String>,
    ) -> PyResult<Descent> {
        let py = rule.py();
        let _line = core::at(lines::here(py));
        let rule = match rule.extract::<String>() {
            Ok(kind) => AnyRule::named(&kind).ok_or_else(|| {
                errors::raise(py, Error::argument(format!("there is no optimizer `{kind}`")))
            })?,
            Err(_) => AnyRule::new(PyRule::of(rule)?),
        };
        let params = parameters.map(params_of).transpose()?;
        let rate = rule.rate();
        let mut descent = optim::Descent::of(rule, params, rate);
        if let Some(name) = name {
            descent = descent.name(name);
        }
        Ok(Descent(Mutex::new(Arc::new(descent))))
    }

    /// Says how gradients are used, and how the rate changes.
    #[pyo3(signature = (schedule, clip, penalty, accumulate, allow_unreached))]
    fn configure(
        &self,
        schedule: Option<&Bound<'_, Schedule>>,
        clip: Option<Py<PyAny>>,
        penalty: Option<&Bound<'_, PyAny>>,
        accumulate: u32,
        allow_unreached: bool,
    ) {
        let mut descent = (*self.get()).clone().plain().accumulate(accumulate);
        if let Some(schedule) = schedule {
            descent = descent.schedule(schedule.get().inner());
        }
        if let Some(penalty) = penalty {
            descent = descent.regularization(penalty_of(penalty));
        }
        if let Some(clip) = clip {
            descent = descent.clip_by(move |gradients| {
                Python::attach(|py| clipped(clip.bind(py), gradients).map_err(errors::callback))
            });
        }
        if allow_unreached {
            descent = descent.allow_unreached();
        }
        self.change(|own| *own = descent);
    }

    /// What the names of its states begin with.
    #[getter]
    fn name(&self) -> String {
        optim::Optimizer::name(&*self.get()).to_string()
    }

    /// Refuses settings that make no sense, and what cannot be trained.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.get().check().map_err(|error| errors::raise(py, error))
    }

    /// Adds parameters with the settings of the first group, and returns the number of the group.
    fn add_group(&self, parameters: &Bound<'_, PyAny>) -> PyResult<usize> {
        let params = params_of(parameters)?;
        Ok(self.change(|own| {
            own.add_group(params, |_| ());
            own.groups().len() - 1
        }))
    }

    /// Takes the last group away again.
    fn drop_group(&self) {
        self.change(|own| own.groups_mut().pop());
    }

    /// The settings of a group, by name.
    fn settings<'py>(&self, py: Python<'py>, group: usize) -> PyResult<Bound<'py, PyDict>> {
        let own = self.get();
        let group = raised(py, group_of(&own, group))?;
        let settings = PyDict::new(py);
        settings.set_item("learning_rate", group.lr)?;
        settings.set_item("weight_decay", group.weight_decay)?;
        settings.set_item("maximize", group.maximize)?;
        for (name, value) in group.rule.settings() {
            settings.set_item(name, setting_to(py, value)?)?;
        }
        Ok(settings)
    }

    /// Changes a setting of a group.
    fn set(&self, group: usize, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        match name {
            "learning_rate" => {
                let rate: f64 = value.extract()?;
                self.try_change(py, |own| {
                    let group = group_mut(own, group)?;
                    (group.lr, group.is_rate_given) = (rate, true);
                    Ok(())
                })
            }
            "weight_decay" => {
                let decay: f64 = value.extract()?;
                self.try_change(py, |own| {
                    group_mut(own, group)?.weight_decay = decay;
                    Ok(())
                })
            }
            "maximize" => {
                let maximize: bool = value.extract()?;
                self.try_change(py, |own| {
                    group_mut(own, group)?.maximize = maximize;
                    Ok(())
                })
            }
            "decay" => {
                let decay = decay_named(py, value.extract()?)?;
                self.try_change(py, |own| {
                    group_mut(own, group)?.decay = decay;
                    Ok(())
                })
            }
            _ => {
                let setting = setting_of(value)?;
                self.try_change(py, |own| group_mut(own, group)?.rule.set(name, setting))
            }
        }
    }

    /// Says that the rate of a group is the usual one, not one that was asked for.
    fn rate_not_given(&self, group: usize) {
        self.change(|own| own.groups_mut()[group].is_rate_given = false);
    }

    /// Gradients of the loss, and the update: of these parameters, or of all. Returns what was updated.
    #[pyo3(signature = (loss, parameters, rows, retain_graph))]
    fn minimize(
        &self,
        py: Python<'_>,
        loss: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
        rows: List<Bound<'_, Rows>, MANY>,
        retain_graph: bool,
    ) -> PyResult<Vec<(String, Tensor)>> {
        let (mut own, loss) = (self.get(), args::var(loss)?);
        if retain_graph {
            own = Arc::new((*own).clone().retain_graph());
        }
        let only = parameters.map(params_of).transpose()?;
        let rows: Vec<Arc<optim::Rows>> = rows.iter().map(|rows| rows.get().0.clone()).collect();
        let pairs = run(py, || {
            let rows: Vec<&optim::Rows> = rows.iter().map(|rows| &**rows).collect();
            own.minimize_these(&loss, only, &rows)
        })?;
        let named = |(param, grad): (Param, Var)| (param.name().to_string(), Tensor::new(grad));
        Ok(pairs.into_iter().map(named).collect())
    }

    /// The gradients of the loss for each parameter that is trained.
    fn gradients(&self, py: Python<'_>, loss: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Tensor>>> {
        let (own, loss) = (self.get(), args::var(loss)?);
        let found = run(py, || own.gradients(&loss))?;
        Ok(found.into_iter().map(|grad| grad.map(Tensor::new)).collect())
    }

    /// Updates by these gradients, or by those that `backward` has accumulated.
    fn step(
        &self,
        py: Python<'_>,
        gradients: Option<List<Option<Bound<'_, PyAny>>, MANY>>,
    ) -> PyResult<()> {
        let own = self.get();
        let Some(gradients) = gradients else { return run(py, || own.step_accumulated()) };
        let given = gradients.iter().map(|grad| grad.as_ref().map(args::var).transpose());
        let given: Vec<Option<Var>> = given.collect::<PyResult<_>>()?;
        run(py, || own.step(&given))
    }

    /// Updates by these gradients, and tables by those of rows: the table, the numbers of rows, and one gradient for each.
    fn step_rows(
        &self,
        py: Python<'_>,
        gradients: List<Option<Bound<'_, PyAny>>, MANY>,
        rows: List<(Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>), MANY>,
    ) -> PyResult<()> {
        let own = self.get();
        let given = gradients.iter().map(|grad| grad.as_ref().map(args::var).transpose());
        let given: Vec<Option<Var>> = given.collect::<PyResult<_>>()?;
        let rows = rows
            .iter()
            .map(|(table, ids, grad)| Ok((param_of(table)?, args::var(ids)?, args::var(grad)?)));
        let rows: Vec<(Param, Var, Var)> = rows.collect::<PyResult<_>>()?;
        run(py, || own.step_rows(&given, rows))
    }

    /// Forgets the gradients that `backward` has accumulated.
    fn zero_grad(&self, py: Python<'_>) -> PyResult<()> {
        let own = self.get();
        call::run_attached(py, || own.zero_grad())
    }

    /// The names of what is trained now.
    fn trained(&self) -> Vec<String> {
        self.get().params().iter().map(|param| param.name().to_string()).collect()
    }

    /// The rate of the next update of a group.
    fn learning_rate(&self, py: Python<'_>, group: usize) -> PyResult<Tensor> {
        let own = self.get();
        call::run_attached(py, || own.learning_rate(group)).map(Tensor::new)
    }

    /// Gives a group another rate, on which the schedule builds.
    fn set_learning_rate(
        &self,
        py: Python<'_>,
        group: usize,
        rate: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let own = self.get();
        if let Ok(rate) = rate.extract::<f64>() {
            return call::run_attached(py, || own.set_learning_rate(group, rate));
        }
        let rate = Arg::expect(rate)?.into_var(py, None)?;
        call::run_attached(py, || own.assign_learning_rate(group, &rate))
    }

    /// What it remembers, by the names of states.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, value) in self.get().state_dict() {
            all.set_item(&*name, Bound::new(py, Tensor::new(Var::new(value)))?)?;
        }
        Ok(all)
    }

    /// Takes over what another one remembered.
    fn load_state(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (own, value) = (self.get(), args::var(value)?);
        call::run_attached(py, || own.load_state(name, value.value()?.clone()))
    }
}

/// The gradients as a function of Python's cuts them down.
fn clipped(clip: &Bound<'_, PyAny>, gradients: &[Var]) -> PyResult<Vec<Var>> {
    let gradients: Vec<Tensor> = gradients.iter().cloned().map(Tensor::new).collect();
    let clipped = clip.call1((gradients,))?;
    sequence::read(&clipped, sequence::MANY, |_, gradient| args::var(&gradient))
}

fn group_of(own: &optim::Descent<AnyRule>, group: usize) -> Result<&Group<AnyRule>> {
    let n = own.groups().len();
    own.groups().get(group).ok_or_else(|| no_group(optim::Optimizer::name(own), n, group))
}

fn group_mut(own: &mut optim::Descent<AnyRule>, group: usize) -> Result<&mut Group<AnyRule>> {
    let (n, name) = (own.groups().len(), optim::Optimizer::name(own).to_string());
    own.groups_mut().get_mut(group).ok_or_else(|| no_group(&name, n, group))
}

fn no_group(name: &str, n: usize, group: usize) -> Error {
    Error::index(format!("the optimizer `{name}` has {n} groups, no group {group}"))
}

fn raised<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| errors::raise(py, error))
}

/// Rows of a table that were looked up, with what is needed to update them alone.
#[pyclass(frozen, module = "fluvial.optimizer", name = "Rows")]
pub struct Rows(Arc<optim::Rows>);

#[pymethods]
impl Rows {
    /// The rows: one for each id, so the axes of the ids come first.
    #[getter]
    fn values(&self) -> Tensor {
        Tensor::new(self.0.values().clone())
    }

    /// The name of the table.
    #[getter]
    fn table(&self) -> String {
        self.0.of().name().to_string()
    }
}

/// Looks rows of a table up so that only these are updated, by `minimize_rows`.
///
/// The whole table gets no gradient. Gradients of an id that occurs several times are added up. What
/// the optimizer remembers is updated for these rows only, too, and so is weight decay.
///
/// Args:
///     table: A parameter, or its name.
///     ids: The numbers of rows.
///
/// Example:
///     >>> _ = fl.parameter("table", (1000, 2), init=1.0)
///     >>> rows = fl.optimizer.lookup("table", fl.tensor([7, 3, 7]))
///     >>> fl.optimizer.SGD(["table"], 0.25).minimize_rows(fl.sum(rows.values), [rows])
///     >>> fl.read_state("table")[[3, 7, 8], 0].tolist()
///     [0.75, 0.5, 1.0]
#[pyfunction]
fn lookup(table: &Bound<'_, PyAny>, ids: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let (table, found) = (param_of(table)?, args::var(ids)?);
    let rows = call::run_attached(ids.py(), || optim::lookup(table, &found))?;
    Ok(Rows(Arc::new(rows)))
}

/// The gradients, cut down.
///
/// Args:
///     kind: "value", "norm" or "global_norm".
///     limit: The limit.
///     gradients: The gradients.
#[pyfunction]
fn clip_gradients(
    py: Python<'_>,
    kind: &str,
    limit: f64,
    gradients: List<Bound<'_, PyAny>, MANY>,
) -> PyResult<Vec<Tensor>> {
    let clip = match kind {
        "value" => optim::Clip::Value(limit),
        "norm" => optim::Clip::Norm(limit),
        _ => optim::Clip::GlobalNorm(limit),
    };
    let gradients: Vec<Var> = gradients.iter().map(args::var).collect::<PyResult<_>>()?;
    let clipped = call::run_attached(py, || optim::clip_gradients(&gradients, clip))?;
    Ok(clipped.into_iter().map(Tensor::new).collect())
}

/// The norm of all gradients together.
///
/// Args:
///     gradients: The gradients.
#[pyfunction]
fn global_norm(py: Python<'_>, gradients: List<Bound<'_, PyAny>, MANY>) -> PyResult<Tensor> {
    let gradients: Vec<Var> = gradients.iter().map(args::var).collect::<PyResult<_>>()?;
    call::run_attached(py, || optim::global_norm(&gradients)).map(Tensor::new)
}

/// The gradient with that of a penalty added.
///
/// Args:
///     kind: "l1" or "l2".
///     factor: The factor of the penalty.
///     gradient: The gradient.
///     parameter: The parameter.
#[pyfunction]
fn add_penalty(
    kind: &str,
    factor: f64,
    gradient: &Bound<'_, PyAny>,
    parameter: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    use fluvial::nn::Regularizer;
    let (grad, param) = (args::var(gradient)?, args::var(parameter)?);
    let penalty = match kind {
        "l1" => Regularizer::L1(factor),
        _ => Regularizer::L2(factor),
    };
    let added = || Penalty::from(penalty).add_to(&grad, &param);
    call::run_attached(gradient.py(), added).map(Tensor::new)
}

/// The options of an optimizer's rule with their defaults, the usual weight decay, and how it is applied.
#[pyfunction]
fn rule_defaults<'py>(
    py: Python<'py>,
    kind: &str,
) -> PyResult<(Bound<'py, PyDict>, f64, &'static str, f64)> {
    let unknown = || errors::raise(py, Error::argument(format!("there is no optimizer `{kind}`")));
    let rule = AnyRule::named(kind).ok_or_else(unknown)?;
    let options = PyDict::new(py);
    for (name, value) in rule.settings() {
        options.set_item(name, setting_to(py, value)?)?;
    }
    Ok((options, rule.weight_decay(), decay_name(rule.decay()), rule.rate()))
}

/// Fading averages of parameters; see `fluvial.optimizer.EMA`.
#[pyclass(frozen, module = "fluvial", name = "Averages")]
struct Averages(optim::Ema);

#[pymethods]
impl Averages {
    #[new]
    fn new(
        parameters: &Bound<'_, PyAny>,
        decay: f64,
        warm_up: bool,
        name: Option<String>,
    ) -> PyResult<Averages> {
        let _line = core::at(lines::here(parameters.py()));
        let mut ema = optim::Ema::new(params_of(parameters)?, decay);
        if warm_up {
            ema = ema.warm_up();
        }
        if let Some(name) = name {
            ema = ema.name(name);
        }
        Ok(Averages(ema))
    }

    fn update(&self, py: Python<'_>) -> PyResult<()> {
        call::run_attached(py, || self.0.update())
    }

    fn apply(&self, py: Python<'_>) -> PyResult<Applied> {
        let applied = call::run_attached(py, || self.0.apply())?;
        Ok(Applied(Mutex::new(Some(applied))))
    }
}

/// Puts parameters back that have got their averages: by `restore`, or at the end of a `with`.
#[pyclass(frozen, module = "fluvial.optimizer", name = "Applied")]
struct Applied(Mutex<Option<optim::Applied>>);

#[pymethods]
impl Applied {
    /// Gives the parameters the values that they had.
    fn restore(&self, py: Python<'_>) -> PyResult<()> {
        let applied = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        applied.map_or(Ok(()), |applied| call::run_attached(py, || applied.restore()))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.restore(py)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Descent>()?;
    module.add_class::<Rows>()?;
    module.add_class::<Averages>()?;
    module.add_class::<Applied>()?;
    module.add_function(wrap_pyfunction!(lookup, module)?)?;
    module.add_function(wrap_pyfunction!(clip_gradients, module)?)?;
    module.add_function(wrap_pyfunction!(global_norm, module)?)?;
    module.add_function(wrap_pyfunction!(add_penalty, module)?)?;
    module.add_function(wrap_pyfunction!(rule_defaults, module)?)
}
