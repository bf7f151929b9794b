//! What Python asks of a tensor as an object: its elements, its truth, copies, pickles.

use fluvial::core::{Element, Error, Result, Value, Var};
use fluvial::tensor::{DType, dispatch};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyList, PyTuple};

use crate::sizes::PyDim;
use crate::tensor::Tensor;
use crate::types::long_name;
use crate::{allocator, array, errors, failing};

/// `__array__`.
pub fn as_array<'py>(
    py: Python<'py>,
    var: Var,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let view = array::to_numpy(py, var)?;
    let other = match dtype {
        Some(dtype) => {
            let wanted = py.import("numpy")?.call_method1("dtype", (dtype,))?;
            !view.getattr("dtype")?.eq(wanted)?
        }
        None => false,
    };
    match (dtype, copy) {
        (Some(_), Some(false)) if other => Err(PyValueError::new_err(
            "another dtype needs a copy\n  remedy: leave `copy` out, or cast the tensor first",
        )),
        (Some(dtype), _) if other => view.call_method1("astype", (dtype,)),
        (_, Some(true)) => view.call_method0("copy"),
        _ => Ok(view),
    }
}

/// `__array_namespace__`.
pub fn namespace<'py>(py: Python<'py>, version: Option<&str>) -> PyResult<Bound<'py, PyModule>> {
    match version {
        None | Some("2021.12" | "2022.12" | "2023.12" | "2024.12") => py.import("fluvial"),
        Some(other) => Err(PyValueError::new_err(format!(
            "version {other} of the array API is not known\n  remedy: ask for \"2024.12\""
        ))),
    }
}

/// `__bool__`.
pub fn truth(py: Python<'_>, var: &Var) -> PyResult<bool> {
    if var.is_symbolic() {
        let ty = var.ty();
        let error = Error::symbolic(format!(
            "{ty} is a value of the program being built: whether it holds is not known yet"
        ));
        let remedy = "put `@fl.function` on the function, which makes `if` and `while` part of \
                      the program, or use `fl.cond`, `fl.while_loop` or `fl.where`";
        return Err(errors::raise(py, error.remedy(remedy)));
    }
    let tensor = concrete(py, var.tensor())?;
    if tensor.numel() != 1 {
        let error = Error::argument(format!(
            "{} has more or less than one element and no truth value",
            tensor.ty()
        ));
        return Err(errors::raise(py, error.remedy("use `fl.all` or `fl.any`")));
    }
    Ok(dispatch!(tensor.dtype(), T => concrete(py, tensor.item::<T>())?.convert::<bool>()))
}

/// `__len__`.
pub fn length(py: Python<'_>, var: &Var) -> PyResult<usize> {
    if let Ok(Value::List(list)) = var.value() {
        return Ok(list.len());
    }
    let ty = var.ty();
    if ty.rank() == 0 {
        return Err(PyTypeError::new_err("a tensor without axes has no length"));
    }
    let length = PyDim::new(ty.dim(0)).number(py)?;
    usize::try_from(length).map_err(PyErr::from)
}

/// `__format__`.
pub fn formatted(py: Python<'_>, tensor: &Tensor, spec: &str) -> PyResult<String> {
    let var = tensor.var(py);
    if let Some(placeholder) = failing::placeholder(&var, &format!(":{spec}")) {
        return Ok(placeholder);
    }
    if var.is_symbolic() {
        let what =
            format!("{} is a value of the program being built, and has no text yet", var.ty());
        let remedy = "print it: `print` in a function under `@fl.function` shows what the run has; \
                      for its type use `x.type_text`, for its place in the program `repr(x)`";
        return Err(errors::raise(py, Error::symbolic(what).remedy(remedy)));
    }
    match (spec, var.tensor()) {
        ("", _) => Ok(var.to_string()),
        (_, Ok(tensor)) if tensor.numel() == 1 => {
            only_element(py, &var)?.call_method1("__format__", (spec,))?.extract()
        }
        _ => {
            let error = Error::argument(format!("\"{spec}\" is for a single number"));
            Err(errors::raise(py, error.remedy("format `x.tolist()` or `x.numpy()`")))
        }
    }
}

/// `__deepcopy__`: elements never change, so only a leaf needs a place of its own for gradients.
pub fn deep_copy(py: Python<'_>, var: &Var) -> PyResult<Var> {
    if !var.is_tracked() {
        return Ok(var.clone());
    }
    if !var.is_leaf() {
        let error = Error::gradient("a computed tensor with its history cannot be copied");
        return Err(errors::raise(py, error.remedy("copy `x.detach()`")));
    }
    concrete(py, var.value().map(|value| Var::new(value.clone())).and_then(|var| var.track()))
}

/// `__reduce__`.
pub fn reduced<'py>(py: Python<'py>, var: &Var) -> PyResult<Bound<'py, PyTuple>> {
    let packed = concrete(py, var.tensor().and_then(|tensor| tensor.contiguous()))?;
    let bytes = PyBytes::new(py, packed.as_bytes().unwrap_or_default());
    let dims = PyTuple::new(py, packed.dims())?;
    let restore = py.import("fluvial._core")?.getattr("tensor_of_bytes")?;
    (restore, (bytes, long_name(packed.dtype()), dims, var.is_leaf())).into_pyobject(py)
}

/// The only element, as a Python number.
pub fn only_element<'py>(py: Python<'py>, var: &Var) -> PyResult<Bound<'py, PyAny>> {
    let tensor = concrete(py, var.tensor())?;
    dispatch!(tensor.dtype(), T => element_object(py, concrete(py, tensor.item::<T>())?))
}

/// The elements as nested lists.
pub fn nested_lists<'py>(py: Python<'py>, var: &Var) -> PyResult<Bound<'py, PyAny>> {
    let tensor = concrete(py, var.tensor())?;
    dispatch!(tensor.dtype(), T => {
        let elements = concrete(py, tensor.to_vec::<T>())?;
        nested(py, &mut elements.into_iter(), tensor.dims())
    })
}

/// What only a concrete tensor has.
fn concrete<R>(py: Python<'_>, result: Result<R>) -> PyResult<R> {
    result.map_err(|error| errors::raise(py, error))
}

fn element_object<'py, T: Element>(py: Python<'py>, element: T) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the functions give a new object, or nothing and an exception where there is no memory.
    let made = |object| unsafe { Bound::from_owned_ptr_or_err(py, object) };
    match T::DTYPE {
        DType::Bool => Ok(PyBool::new(py, element.to_i64() != 0).to_owned().into_any()),
        // SAFETY: the thread is attached.
        dtype if dtype.is_float() => made(unsafe { ffi::PyFloat_FromDouble(element.to_f64()) }),
        dtype if dtype.is_complex() => {
            Ok(PyComplex::from_doubles(py, element.to_f64(), element.imaginary()).into_any())
        }
        // SAFETY: as above.
        DType::U64 => made(unsafe { ffi::PyLong_FromUnsignedLongLong(element.to_i64() as u64) }),
        // SAFETY: as above.
        _ => made(unsafe { ffi::PyLong_FromLongLong(element.to_i64()) }),
    }
}

/// How many elements are made before somebody looks for Ctrl-C.
const STRETCH: usize = 1 << 10;

/// A list of so many elements, made one after the other.
pub fn list_of<'py>(
    py: Python<'py>,
    len: usize,
    mut element: impl FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for i in 0..len {
        if i % STRETCH == STRETCH - 1 {
            py.check_signals()?;
        }
        allocator::check()?;
        list.append(element(i)?)?;
    }
    Ok(list)
}

fn nested<'py, T: Element>(
    py: Python<'py>,
    elements: &mut impl Iterator<Item = T>,
    dims: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    match dims {
        [] => element_object(py, elements.next().unwrap_or_default()),
        [first, rest @ ..] => {
            list_of(py, *first, |_| nested(py, elements, rest)).map(Bound::into_any)
        }
    }
}
