//! The functions of the ops as methods of tensors: `x.sum(axis=0)` is `fl.sum(x, axis=0)`.

use pyo3::prelude::*;

use crate::generated::METHODS;
use crate::tensor::Tensor;

/// A function that becomes a method of the tensor it is looked up on.
#[pyclass(frozen, module = "fluvial._core")]
struct Method(Py<PyAny>);

#[pymethods]
impl Method {
    fn __get__<'py>(
        &self,
        instance: &Bound<'py, PyAny>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = instance.py();
        let function = self.0.bind(py);
        if instance.is_none() {
            return Ok(function.clone());
        }
        bound(function, instance)
    }

    #[getter]
    fn __doc__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.bind(py).getattr("__doc__")
    }
}

fn bound<'py>(
    function: &Bound<'py, PyAny>,
    instance: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = instance.py();
    static CLASS: pyo3::sync::PyOnceLock<Py<pyo3::types::PyType>> = pyo3::sync::PyOnceLock::new();
    CLASS.import(py, "types", "MethodType")?.call1((function, instance))
}

/// Gives the class its methods, once the module has the functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<Tensor>();
    for name in METHODS {
        let function = module.getattr(*name)?.unbind();
        class.setattr(*name, Bound::new(module.py(), Method(function))?)?;
    }
    Ok(())
}
