//! Limits of what runs.

use std::cell::RefCell;
use std::time::Duration;

use fluvial::core::{Limited, Limits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

thread_local! {
    /// The limits that this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<Limited>> = const { RefCell::new(Vec::new()) };
}

/// A scope in which what this thread runs may need no more than this: programs of others, or code that may not end.
///
/// Beyond a limit, what runs ends with an error: a `MemoryError`, or a `RuntimeError` with `kind` "limit". A run
/// that writes checkpoints writes one before.
///
/// Args:
///     memory: The most bytes of tensors, and on Linux of the process.
///     time: The most seconds.
///     steps: The most trips of loops, those of loops in loops included.
///
/// Example:
///     >>> program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"})
///     >>> with fl.limits(memory=1 << 40, time=60, steps=1000):
///     ...     y = program.run(x=fl.tensor([1.0, 2.0]))["y"]
///     >>> y.tolist()
///     [2.0, 4.0]
#[pyclass(frozen, module = "fluvial", name = "limits")]
struct PyLimits(Limits);

#[pymethods]
impl PyLimits {
    #[new]
    #[pyo3(signature = (*, memory=None, time=None, steps=None))]
    fn new(memory: Option<u64>, time: Option<f64>, steps: Option<u64>) -> PyResult<PyLimits> {
        let time = time.map(Duration::try_from_secs_f64).transpose().map_err(|_| {
            PyValueError::new_err("`time` is not a number of seconds\n  remedy: give one from 0 on")
        })?;
        Ok(PyLimits(Limits { memory, time, trips: steps }))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let limited = slf.get().0.enter();
        ENTERED.with_borrow_mut(|entered| entered.push(limited));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        drop(ENTERED.with_borrow_mut(Vec::pop));
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLimits>()
}
