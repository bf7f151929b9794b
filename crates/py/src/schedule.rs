//! Schedules of rates.

use fluvial::core::{self, Result, Var};
use fluvial::optim::{self, Cyclic, OneCycle};
use pyo3::PyClassInitializer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::sequence::{List, MANY};
use crate::tensor::Tensor;
use crate::{args, call, errors, lines};

/// A rate as a function of the first rate and of the number of updates made.
///
/// Args:
///     function: Takes both as scalars of f64, and returns one.
///     first: The first rate, for optimizers that get the schedule as their `learning_rate`.
#[pyclass(subclass, frozen, module = "fluvial.optimizer.lr", name = "Schedule")]
pub struct Schedule {
    inner: optim::Schedule,
    first: f64,
}

impl Schedule {
    /// The schedule of Rust's.
    pub fn inner(&self) -> optim::Schedule {
        self.inner.clone()
    }
}

#[pymethods]
impl Schedule {
    #[new]
    #[pyo3(signature = (function, first=1.0))]
    fn new(function: Py<PyAny>, first: f64) -> Schedule {
        let inner = optim::Schedule::new(move |rate, step| {
            Python::attach(|py| {
                let given = (Tensor::new(rate.clone()), Tensor::new(step.clone()));
                let found = function.bind(py).call1(given);
                found.and_then(|found| args::var(&found)).map_err(errors::callback)
            })
        });
        Schedule { inner, first }
    }

    /// The first rate, for optimizers that get the schedule as their `learning_rate`.
    #[getter]
    fn first(&self) -> f64 {
        self.first
    }

    /// The same schedule with another first rate.
    ///
    /// Args:
    ///     first: The first rate.
    fn starting_at(&self, first: f64) -> Schedule {
        Schedule { inner: self.inner.clone(), first }
    }

    /// The rate, in both modes.
    ///
    /// Args:
    ///     first: The first rate.
    ///     step: The number of updates made.
    fn rate(&self, first: &Bound<'_, PyAny>, step: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let [rate, step] = [args::var(first)?, args::var(step)?];
        call::run_attached(first.py(), || self.inner.rate(&rate, &step)).map(Tensor::new)
    }

    /// The rate as a number.
    ///
    /// Args:
    ///     first: The first rate.
    ///     step: The number of updates made.
    fn at(&self, py: Python<'_>, first: f64, step: u32) -> PyResult<f64> {
        call::run_attached(py, || {
            let _no_grad = core::no_grad();
            self.inner.at(first, step)
        })
    }

    /// Counts in epochs of `n` updates.
    ///
    /// Args:
    ///     n: The number of updates in one.
    fn every(&self, py: Python<'_>, n: u32) -> PyResult<Schedule> {
        checked(py, self.inner.clone().every(n), self.first)
    }
}

/// A schedule, if it gives a rate at all.
fn checked(py: Python<'_>, inner: optim::Schedule, first: f64) -> PyResult<Schedule> {
    let tried: Result<()> = {
        let _scope = (core::imperative(), core::no_grad());
        inner.at(1.0, 0).map(drop)
    };
    tried.map_err(|error| errors::raise(py, error))?;
    Ok(Schedule { inner, first })
}

/// Schedules by name, with their numbers; see `fluvial.optimizer.lr`.
#[pyfunction]
#[pyo3(signature = (kind, counts, numbers, parts))]
fn schedule(
    py: Python<'_>,
    kind: &str,
    counts: List<u32, MANY>,
    numbers: List<f64, MANY>,
    parts: List<Bound<'_, Schedule>, MANY>,
) -> PyResult<Schedule> {
    use optim::Schedule as S;
    let parts: Vec<S> = parts.iter().map(|part| part.get().inner()).collect();
    let inner = match (kind, &counts[..], &numbers[..]) {
        ("constant", _, _) => S::constant(),
        ("delayed", &[steps], &[factor]) => S::delayed(factor, steps),
        ("step", &[size], &[gamma]) => S::step(size, gamma),
        ("multi_step", milestones, &[gamma]) => S::multi_step(milestones, gamma),
        ("exponential", _, &[gamma]) => S::exponential(gamma),
        ("linear", &[steps], &[start, end]) => S::linear(start, end, steps),
        ("polynomial", &[steps], &[power]) => S::polynomial(steps, power),
        ("cosine", &[steps], &[lowest]) => S::cosine(steps, lowest),
        ("cosine_restarts", &[steps, factor], &[lowest]) => {
            S::cosine_restarts(steps, factor, lowest)
        }
        ("one_cycle", &[steps, linear, three], &[rising, div, last]) => S::one_cycle(
            OneCycle::new(steps)
                .rising(rising)
                .div_factor(div)
                .final_div_factor(last)
                .linear(linear != 0)
                .three_phases(three != 0),
        ),
        ("cyclic", &[up, down, halves], &[lowest, highest, gamma]) => {
            let cyclic = Cyclic::new(lowest, highest, up).down(down);
            S::cyclic(match halves != 0 {
                true => cyclic.halves(),
                false if gamma != 1.0 => cyclic.gamma(gamma),
                false => cyclic,
            })
        }
        ("noam", &[dim, warm_up], _) => S::noam(dim, warm_up),
        ("warm_up", &[steps], &[start]) if parts.len() == 1 => {
            S::warm_up(steps, start, parts[0].clone())
        }
        ("piecewise", boundaries, rates) => S::piecewise(boundaries, rates),
        ("sequential", milestones, _) => S::sequential(parts, milestones),
        ("chained", _, _) => S::chained(parts),
        _ => {
            let error = core::Error::internal(format!("no schedule `{kind}` of these numbers"));
            return Err(errors::raise(py, error));
        }
    };
    checked(py, inner, 1.0)
}

/// The first rate times a function of the number of updates.
#[pyfunction]
fn schedule_by(function: Py<PyAny>) -> Schedule {
    let inner = optim::Schedule::lambda(move |step| {
        Python::attach(|py| {
            let found = function.bind(py).call1((Tensor::new(step.clone()),));
            found.and_then(|found| args::var(&found)).map_err(errors::callback)
        })
    });
    Schedule { inner, first: 1.0 }
}

/// A rate that falls when a measure that is shown to it no longer improves.
///
/// Args:
///     name: If given, the state scope keeps what it has seen, under this name.
///     factor: What the rate is multiplied with.
///     patience: How many measures without improvement are borne.
///     threshold: By how much a measure must be better to count.
///     absolute: Whether that is a difference, or a share.
///     cooldown: How many measures after a fall do not count.
///     lowest: The lowest rate.
///     maximize: Whether larger is better.
///
/// Example:
///     >>> plateau = fl.optimizer.lr.Plateau(patience=1, factor=0.5)
///     >>> for loss in [1.0, 1.0, 1.0]:
///     ...     plateau.observe(fl.tensor(loss))
///     >>> plateau.at(0.1, 3)
///     0.05
#[pyclass(extends = Schedule, frozen, module = "fluvial.optimizer.lr", name = "Plateau")]
struct Plateau(optim::Plateau);

#[pymethods]
impl Plateau {
    #[new]
    #[pyo3(signature = (
        name=None, factor=0.1, patience=10, threshold=1e-4, absolute=false, cooldown=0, lowest=0.0, maximize=false
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        name: Option<String>,
        factor: f64,
        patience: u32,
        threshold: f64,
        absolute: bool,
        cooldown: u32,
        lowest: f64,
        maximize: bool,
    ) -> PyClassInitializer<Plateau> {
        let _line = core::at(lines::here(py));
        let mut plateau = optim::Plateau::new().factor(factor).patience(patience);
        plateau = plateau.cooldown(cooldown).lowest(lowest);
        plateau = match absolute {
            true => plateau.absolute_threshold(threshold),
            false => plateau.relative_threshold(threshold),
        };
        if maximize {
            plateau = plateau.maximize();
        }
        if let Some(name) = name {
            plateau = plateau.name(name);
        }
        let schedule = Schedule { inner: plateau.schedule(), first: 1.0 };
        PyClassInitializer::from(schedule).add_subclass(Plateau(plateau))
    }

    /// Shows it a measure, in both modes.
    ///
    /// Args:
    ///     measure: A float scalar.
    fn observe(&self, measure: &Bound<'_, PyAny>) -> PyResult<()> {
        let value: Var = args::var(measure)?;
        call::run_attached(measure.py(), || self.0.observe(&value))
    }

    /// What it has seen, by the names of states.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, value) in self.0.state_dict() {
            all.set_item(&*name, Bound::new(py, Tensor::new(Var::new(value)))?)?;
        }
        Ok(all)
    }

    /// Goes on where another one was.
    ///
    /// Args:
    ///     state: What its `state_dict` gave.
    fn load_state_dict(&self, state: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, value) in state {
            let (name, value) = (name.extract::<String>()?, args::var(&value)?);
            let value = || self.0.load_state(&name, value.value()?.clone());
            call::run_attached(state.py(), value)?;
        }
        Ok(())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Schedule>()?;
    module.add_class::<Plateau>()?;
    module.add_function(wrap_pyfunction!(schedule, module)?)?;
    module.add_function(wrap_pyfunction!(schedule_by, module)?)
}
