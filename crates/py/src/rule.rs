//! Rules of optimizers that Python says.

use fluvial::core::{Error, Result, Var};
use fluvial::optim::{self, Decay, Kind, Rule, Setting};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyWeakrefReference};

use crate::args::{self, Arg};
use crate::tensor::Tensor;
use crate::{call, errors, sequence};

/// The rule of an optimizer whose class says `update`.
#[derive(Debug)]
pub struct PyRule {
    /// The optimizer, which owns this.
    owner: Py<PyWeakrefReference>,
    name: String,
    decay: Decay,
    weight_decay: f64,
    rate: f64,
    is_elementwise: bool,
    /// The options of a group.
    settings: Py<PyDict>,
}

impl PyRule {
    /// The rule of an object of a class of optimizers.
    pub fn of(owner: &Bound<'_, PyAny>) -> PyResult<PyRule> {
        let decay = match owner.getattr("_decay")?.extract::<String>()?.as_str() {
            "decoupled" => Decay::Decoupled,
            "rule" => Decay::ByRule,
            _ => Decay::Coupled,
        };
        let settings = PyDict::new(owner.py());
        settings.update(owner.getattr("defaults")?.cast::<PyDict>()?.as_mapping())?;
        Ok(PyRule {
            owner: PyWeakrefReference::new(owner)?.unbind(),
            name: owner.getattr("_name")?.extract()?,
            decay,
            weight_decay: owner.getattr("_weight_decay")?.extract()?,
            rate: owner.getattr("_rate")?.extract()?,
            is_elementwise: owner.getattr("_elementwise")?.extract()?,
            settings: settings.unbind(),
        })
    }

    fn call(
        &self,
        f: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyDict>) -> PyResult<Vec<Var>>,
    ) -> Result<Vec<Var>> {
        Python::attach(|py| {
            let Some(owner) = self.owner.bind(py).upgrade() else {
                return Err(Error::internal("the rule of an optimizer has outlived it"));
            };
            f(&owner, self.settings.bind(py)).map_err(errors::callback)
        })
    }
}

impl Rule for PyRule {
    fn name(&self) -> &str {
        &self.name
    }

    fn decay(&self) -> Decay {
        self.decay
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn is_elementwise(&self) -> bool {
        self.is_elementwise
    }

    fn calls_back(&self) -> bool {
        true
    }

    fn shared(&self, step: &optim::Step) -> Result<Vec<Var>> {
        self.call(|owner, settings| {
            let shared = owner.call_method1("shared", (Step(step.clone()), settings))?;
            sequence::read(&shared, sequence::MANY, |_, number| args::var(&number))
        })
    }

    fn update(&self, u: &optim::Update) -> Result<Var> {
        let new = self.call(|owner, settings| {
            let update = Update { inner: u.clone(), settings: settings.clone().unbind() };
            let new = owner.call_method1("update", (update,))?;
            Ok(vec![Arg::expect(&new)?.into_var(owner.py(), Some(u.param.dtype()))?])
        })?;
        new.into_iter().next().ok_or_else(|| Error::internal("a rule gave nothing"))
    }
}

impl Kind for PyRule {
    fn settings(&self) -> Vec<(&'static str, Setting)> {
        Vec::new()
    }

    fn set(&mut self, name: &str, value: Setting) -> Result<()> {
        Python::attach(|py| {
            let settings = self.settings.bind(py).copy().map_err(errors::callback)?;
            let value = setting_to(py, value).map_err(errors::callback)?;
            settings.set_item(name, value).map_err(errors::callback)?;
            self.settings = settings.unbind();
            Ok(())
        })
    }

    fn boxed(&self) -> Box<dyn Kind> {
        Python::attach(|py| {
            Box::new(PyRule {
                owner: self.owner.clone_ref(py),
                name: self.name.clone(),
                decay: self.decay,
                weight_decay: self.weight_decay,
                rate: self.rate,
                is_elementwise: self.is_elementwise,
                settings: self.settings.clone_ref(py),
            }) as Box<dyn Kind>
        })
    }
}

/// A setting from what Python has for one.
pub fn setting_of(value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Setting::Flag(flag.is_true()));
    }
    match value.extract::<(f64, f64)>() {
        Ok((a, b)) => Ok(Setting::Pair(a, b)),
        Err(_) => Ok(Setting::Number(value.extract()?)),
    }
}

/// A setting as Python has it.
pub fn setting_to(py: Python<'_>, setting: Setting) -> PyResult<Bound<'_, PyAny>> {
    match setting {
        Setting::Number(number) => number.into_bound_py_any(py),
        Setting::Pair(a, b) => (a, b).into_bound_py_any(py),
        Setting::Flag(flag) => flag.into_bound_py_any(py),
    }
}

/// The update that is made, for the numbers that parameters have in common.
#[pyclass(frozen, module = "fluvial.optimizer", name = "Step")]
struct Step(optim::Step);

#[pymethods]
impl Step {
    /// The number of the update, counted from one.
    #[getter]
    fn t(&self) -> Tensor {
        Tensor::new(self.0.t.clone())
    }

    /// `1 - beta^t`.
    fn bias_correction(&self, py: Python<'_>, beta: f64) -> PyResult<Tensor> {
        call::run_attached(py, || self.0.bias_correction(beta)).map(Tensor::new)
    }

    /// A number that is remembered for the group.
    fn number(&self, py: Python<'_>, slot: &str, first: f64) -> PyResult<Tensor> {
        call::run_attached(py, || self.0.number(slot, first)).map(Tensor::new)
    }

    /// Remembers a number.
    fn put_number(&self, py: Python<'_>, slot: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = args::var(value)?;
        call::run_attached(py, || self.0.put_number(slot, &value))
    }
}

/// The update of one parameter, as its rule sees it.
#[pyclass(frozen, module = "fluvial.optimizer", name = "Update")]
struct Update {
    inner: optim::Update,
    settings: Py<PyDict>,
}

#[pymethods]
impl Update {
    /// The value before the update.
    #[getter]
    fn param(&self) -> Tensor {
        Tensor::new(self.inner.param.clone())
    }

    /// The gradient.
    #[getter]
    fn grad(&self) -> Tensor {
        Tensor::new(self.inner.grad.clone())
    }

    /// The rate, in the type of the parameter.
    #[getter]
    fn lr(&self) -> Tensor {
        Tensor::new(self.inner.lr.clone())
    }

    /// What the group has in common, in the type of the parameter.
    #[getter]
    fn shared(&self) -> Vec<Tensor> {
        self.inner.all_shared().iter().cloned().map(Tensor::new).collect()
    }

    /// The options of the group.
    #[getter]
    fn settings(&self, py: Python<'_>) -> Py<PyDict> {
        self.settings.clone_ref(py)
    }

    /// For rules that see to weight decay themselves.
    #[getter]
    fn weight_decay(&self) -> f64 {
        self.inner.weight_decay
    }

    /// What the rule remembers of the parameter.
    #[pyo3(signature = (slot, first=0.0))]
    fn slot(&self, py: Python<'_>, slot: &str, first: f64) -> PyResult<Tensor> {
        call::run_attached(py, || self.inner.slot(slot, first)).map(Tensor::new)
    }

    /// Remembers something of the parameter.
    fn put(&self, py: Python<'_>, slot: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = args::var(value)?;
        call::run_attached(py, || self.inner.put(slot, &value))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Step>()?;
    module.add_class::<Update>()
}
