//! What parameters are made of: values or sizes, initialisers, attributes.

use fluvial::core::{DType, Error, Var};
use fluvial::init::Initializer;
use fluvial::nn::ParamAttr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::args::Number;
use crate::tensor::Tensor;
use crate::types::{DTypeArg, ShapeArg, type_of};
use crate::{array, errors, state};

/// What a parameter is made of.
pub struct Made {
    pub dtype: DType,
    pub dims: Option<Vec<usize>>,
    pub init: Initializer,
}

impl Made {
    pub fn of(
        data: Option<&Bound<'_, PyAny>>,
        dtype: Option<DTypeArg>,
        init: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Made> {
        if let Some(data) = data
            && let Some(value) = given(data)?
        {
            if init.is_some() || dtype.is_some() {
                return Err(PyTypeError::new_err(
                    "a parameter made of a tensor has its element type and initial value from it\n  \
                     remedy: give sizes with `dtype` and `init`, or the tensor alone",
                ));
            }
            let py = data.py();
            let tensor = value.detach().tensor().cloned();
            let tensor = tensor.map_err(|error| errors::raise(py, error))?;
            let (dtype, dims) = (tensor.dtype(), Some(tensor.dims().to_vec()));
            return Ok(Made { dtype, dims, init: Initializer::Assign(tensor) });
        }
        let dtype = dtype.map_or(DType::F32, |dtype| dtype.0);
        let dims = data.map(sizes).transpose()?;
        Ok(Made { dtype, dims, init: init.map_or(Ok(Initializer::zeros()), initializer)? })
    }
}

/// The tensor or the array that was given for the value of a parameter.
fn given(data: &Bound<'_, PyAny>) -> PyResult<Option<Var>> {
    if let Ok(tensor) = data.cast::<Tensor>() {
        return Ok(Some(tensor.get().var(data.py())));
    }
    if Number::of(data)?.is_some() {
        return Ok(None);
    }
    Ok(array::of_object(data)?.map(Var::new))
}

fn sizes(shape: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let py = shape.py();
    let wrong = |_| {
        PyTypeError::new_err(format!(
            "a parameter is made of a tensor, an array or sizes, found {}\n  \
             remedy: `Parameter(fl.tensor(...))` for a value, `Parameter((2, 3))` for sizes",
            shape.get_type()
        ))
    };
    let shape: ShapeArg = shape.extract().map_err(wrong)?;
    let ty = type_of(py, DTypeArg(DType::F32), &shape)?;
    ty.sizes().map(|sizes| sizes.to_vec()).ok_or_else(|| {
        let error =
            Error::argument(format!("the sizes of a parameter must be numbers, found {ty}"));
        errors::raise(py, error)
    })
}

/// An initialiser from what Python has for one: a number, a value, or a function of shape and dtype.
fn initializer(init: &Bound<'_, PyAny>) -> PyResult<Initializer> {
    if let Some(number) = Number::of(init)? {
        return Ok(Initializer::Constant(number.to_f64()?));
    }
    if let Some(stated) = crate::initializer::stated(init)? {
        return Ok(stated);
    }
    let init = init.clone().unbind();
    Ok(Initializer::custom(move |ty| {
        Python::attach(|py| state::initial(py, *ty, Some(init.bind(py))))
    }))
}

/// What was said of a parameter, as `ParamAttr` of Python and of Rust.
pub fn attribute<'py>(
    py: Python<'py>,
    said: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, ParamAttr)> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "fluvial._attr", "ParamAttr")?;
    let attr = class.call_method1("of", (said,))?;
    let init = attr.getattr("initializer")?;
    let own = ParamAttr {
        name: attr.getattr("name")?.extract()?,
        init: (!init.is_none()).then(|| initializer(&init)).transpose()?,
        trainable: attr.getattr("trainable")?.extract()?,
        learning_rate: attr.getattr("learning_rate")?.extract()?,
        regularizer: None,
    };
    Ok((attr, own))
}
