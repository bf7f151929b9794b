//! Mixed precision and checkpoints line by line.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use fluvial::core::{self, autocast, scope, state};
use pyo3::prelude::*;

use crate::errors;
use crate::types::DTypeArg;

thread_local! {
    /// The scopes that this thread has entered, the innermost last. A thread that ends inside of one puts nothing back.
    static ENTERED: RefCell<Vec<ManuallyDrop<autocast::Scope>>> = const { RefCell::new(Vec::new()) };
}

/// A scope of mixed precision. `fl.autocast` enters it.
///
/// Args:
///     dtype: The narrow type; None for a scope in which nothing is cast.
#[pyclass(frozen, module = "fluvial._core")]
struct Autocast(Option<core::DType>);

#[pymethods]
impl Autocast {
    #[new]
    #[pyo3(signature = (dtype))]
    fn new(dtype: Option<DTypeArg>) -> Autocast {
        Autocast(dtype.map(|dtype| dtype.0))
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let scope = autocast::autocast(self.0).map_err(|error| errors::raise(py, error))?;
        ENTERED.with_borrow_mut(|entered| entered.push(ManuallyDrop::new(scope)));
        Ok(())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        let innermost = ENTERED.with_borrow_mut(Vec::pop);
        drop(innermost.map(ManuallyDrop::into_inner));
    }
}

/// The name of the narrow type of the scope that this thread is in.
#[pyfunction]
fn autocast_type() -> Option<&'static str> {
    autocast::current().map(core::DType::name)
}

/// Calls a function line by line so that its gradient runs it again, on the states of now: see `fl.checkpoint`.
///
/// Args:
///     function: A function without arguments.
#[pyfunction]
fn checkpointed<'py>(py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let before = state::current().fork().map_err(|error| errors::raise(py, error))?;
    let (again, narrow) = (function.clone().unbind(), autocast::current());
    let run_again = move || -> core::Result<()> {
        let states = before.fork()?;
        let _scope = (states.enter(), autocast::autocast(narrow)?, scope::enable_grad());
        Python::attach(|py| again.call0(py).map(drop).map_err(errors::callback))
    };
    let mut raised = None;
    let result = core::checkpoint(Arc::new(run_again), || {
        function.call0().map_err(|error| {
            raised = Some(error);
            core::Error::internal("the function failed")
        })
    });
    match raised {
        Some(error) => Err(error),
        None => result.map_err(|error| errors::raise(py, error)),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Autocast>()?;
    module.add_function(wrap_pyfunction!(autocast_type, module)?)?;
    module.add_function(wrap_pyfunction!(checkpointed, module)?)
}
