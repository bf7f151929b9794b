//! Counters of loops over open sizes.
//!
//! Line by line, such a counter is an int, and what floats make of it is Python's double. A value of a program is
//! neither: where the build has an example of the size, a float beside a counter asks for the program of that size,
//! in which the counter is Python's.

use fluvial::core::{Dim, Error, Whole, decisions};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use pyo3::{IntoPyObjectExt, PyClassInitializer};

use crate::errors;
use crate::sizes::PyDim;
use crate::tensor::Tensor;

/// An integer of the program that counts up to an open size.
#[pyclass(extends = Tensor, frozen, module = "fluvial._core")]
pub struct Counter {
    length: Dim,
}

#[pymethods]
impl Counter {
    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__add__", other)
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__radd__", other)
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__sub__", other)
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rsub__", other)
    }

    fn __mul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__mul__", other)
    }

    fn __rmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rmul__", other)
    }

    fn __truediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__truediv__", other)
    }

    fn __rtruediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rtruediv__", other)
    }

    fn __floordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__floordiv__", other)
    }

    fn __rfloordiv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rfloordiv__", other)
    }

    fn __mod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__mod__", other)
    }

    fn __rmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rmod__", other)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__pow__", other)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        computed(slf, "__rpow__", other)
    }
}

fn computed<'py>(
    slf: &Bound<'py, Counter>,
    name: &str,
    other: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, length) = (slf.py(), slf.get().length);
    let whole = other.is_instance_of::<PyInt>()
        || other.is_instance_of::<PyDim>()
        || other.is_instance_of::<Counter>();
    let divides = name.ends_with("truediv__") || name.ends_with("pow__");
    if other.is_instance_of::<PyFloat>() || (whole && divides) {
        let example = decisions::value(Whole::from(length));
        if example.map_err(|error| errors::raise(py, error))?.is_some() {
            let error = Error::symbolic(format!(
                "a float beside the counter of a loop over `{length}` is a number of Python's"
            ));
            return Err(errors::raise(py, error.remedy("make it a tensor: `fl.tensor(0.1) * i`")));
        }
    }
    let result = py.get_type::<Tensor>().call_method1(name, (slf, other))?;
    let stays = whole && !divides && result.is_instance_of::<Tensor>();
    if stays { made(result.cast::<Tensor>()?, length) } else { Ok(result) }
}

fn made<'py>(tensor: &Bound<'py, Tensor>, length: Dim) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    let base = PyClassInitializer::from(Tensor::new(tensor.get().var(py)));
    Bound::new(py, base.add_subclass(Counter { length }))?.into_bound_py_any(py)
}

/// The tensor as what counts up to an open size.
#[pyfunction]
fn counter<'py>(
    tensor: &Bound<'py, Tensor>,
    length: &Bound<'py, PyDim>,
) -> PyResult<Bound<'py, PyAny>> {
    made(tensor, length.get().0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Counter>()?;
    module.add_function(wrap_pyfunction!(counter, module)?)
}
