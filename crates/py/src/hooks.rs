//! Python functions that see gradients on their way.

use std::sync::{Arc, Mutex, PoisonError};

use fluvial::core::{HookHandle, Result, Var};
use pyo3::prelude::*;

use crate::args::Arg;
use crate::tensor::Tensor;
use crate::{call, errors, parameter};

/// The function of a hook, until it is taken away.
type Cell = Arc<Mutex<Option<Py<PyAny>>>>;

/// What `register_hook` returns: takes the hook away. As a context manager it does so at the end.
///
/// Example:
///     >>> x = fl.tensor(1.0).track()
///     >>> with x.register_hook(lambda grad: grad * 10):
///     ...     (x * 3).backward()
///     >>> x.grad.item()
///     30.0
#[pyclass(frozen, module = "fluvial", name = "Hook")]
pub struct Hook {
    function: Cell,
    /// Where it is, on a leaf or a parameter.
    handle: HookHandle,
}

#[pymethods]
impl Hook {
    /// From here on the function is no longer called.
    fn remove(&self) {
        let function = self.function.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(function);
        self.handle.remove();
        self.tell();
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        self.remove();
    }
}

/// Calls a function with the gradient of a value whenever it is complete.
pub fn register_on(var: &Var, function: &Bound<'_, PyAny>) -> PyResult<Hook> {
    let py = function.py();
    let cell: Cell = Arc::new(Mutex::new(Some(function.clone().unbind())));
    let of_hook = cell.clone();
    let hook = move |grad: &Var| Python::attach(|py| called(py, &of_hook, grad));
    let handle = call::run_attached(py, || var.register_hook(hook))?;
    let hook = Hook { function: cell, handle };
    hook.tell();
    Ok(hook)
}

impl Hook {
    /// Tells those who keep programs that a leaf has other hooks.
    fn tell(&self) {
        if self.handle.is_on_leaf() {
            parameter::changed();
        }
    }
}

fn called(py: Python<'_>, cell: &Cell, grad: &Var) -> Result<Option<Var>> {
    let held = cell.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(function) = held.as_ref().map(|function| function.clone_ref(py)) else {
        return Ok(None);
    };
    drop(held);
    let replacement = || {
        let returned = function.bind(py).call1((Tensor::new(grad.clone()),))?;
        match returned.is_none() {
            true => Ok(None),
            false => Arg::expect(&returned)?.into_var(py, Some(grad.dtype())).map(Some),
        }
    };
    replacement().map_err(errors::callback)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Hook>()
}
