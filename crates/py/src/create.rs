//! Making tensors.

use fluvial::core::{DType, Error, Var, structural};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

use crate::args::{Arg, NumberArg};
use crate::sequence::{DEPTH, FEW, List};
use crate::tensor::Tensor;
use crate::types::{DTypeArg, ShapeArg, type_of};
use crate::{array, call, dlpack, errors};

/// A tensor with these elements.
///
/// Args:
///     data: A number, nested lists of numbers, a NumPy array (which is copied) or a tensor.
///     dtype: The element type; by default that of an array, and float32, int64 or bool for
///         Python's numbers. Integers have to hold Python's numbers, whose fractions are cut off;
///         elements of arrays and tensors are cast.
///     requires_grad: Whether the tensor is a leaf, in whose `grad` gradients accumulate.
///     device: None or "cpu".
///
/// Example:
///     >>> fl.tensor([[1.0, 2.0], [3.0, 4.0]]).shape
///     (2, 2)
#[pyfunction]
#[pyo3(signature = (data, dtype=None, *, requires_grad=false, device=None))]
fn tensor(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    requires_grad: bool,
    device: Option<&str>,
) -> PyResult<Tensor> {
    if let Some(device) = device.filter(|device| *device != "cpu") {
        let error = Error::argument(format!("there is no device \"{device}\""));
        return Err(errors::raise(py, error.remedy("use \"cpu\"")));
    }
    let made = made(py, data, dtype)?;
    if !requires_grad {
        return Ok(Tensor::new(made));
    }
    call::run(py, &[], || made.track()).map(Tensor::new)
}

fn made(py: Python<'_>, data: &Bound<'_, PyAny>, dtype: Option<DTypeArg>) -> PyResult<Var> {
    let var = match Arg::of(data)? {
        Some(Arg::Value(var)) => var,
        Some(Arg::Number(number)) => match dtype {
            Some(DTypeArg(dtype)) => number.element(py, dtype)?,
            None => number.literal(py, None)?,
        },
        Some(Arg::Weak(var, _)) if dtype.is_some_and(|dtype| dtype.0 == var.dtype()) => var,
        Some(Arg::Weak(var, _)) if var.dtype().is_float() && dtype.is_some() => var,
        Some(other) => other.into_var(py, dtype.map(|dtype| dtype.0))?,
        None => of_lists(data, dtype)?,
    };
    match dtype {
        Some(DTypeArg(dtype)) if dtype != var.dtype() => {
            call::run(py, &[&var], || structural::cast(&var, dtype))
        }
        _ => Ok(var),
    }
}

/// Nested lists of numbers, which an integer type has to hold, or of tensors. Not cast yet.
pub fn of_lists(data: &Bound<'_, PyAny>, dtype: Option<DTypeArg>) -> PyResult<Var> {
    if let Some(stacked) = stacked(data)? {
        return Ok(stacked);
    }
    let tensor = array::copy(&array::as_array(data)?)?;
    if let Some(DTypeArg(dtype)) = dtype {
        array::check_range(&tensor, dtype).map_err(|error| errors::raise(data.py(), error))?;
    }
    // Python's floats have no element type of their own.
    if dtype.is_none() && tensor.dtype() == DType::F64 {
        let cast = tensor.cast(DType::F32).map_err(|error| errors::raise(data.py(), error))?;
        return Ok(Var::new(cast));
    }
    if dtype.is_none() && tensor.dtype() == DType::C128 {
        let cast = tensor.cast(DType::C64).map_err(|error| errors::raise(data.py(), error))?;
        return Ok(Var::new(cast));
    }
    Ok(Var::new(tensor))
}

/// Nested lists as one value by ops, if they hold tensors: these keep their element types, gradients and places in programs.
pub fn stacked(data: &Bound<'_, PyAny>) -> PyResult<Option<Var>> {
    static STACK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if !holds_values(data, 0) {
        return Ok(None);
    }
    let stack = STACK.import(data.py(), "fluvial._arguments", "stacked")?;
    Ok(Some(stack.call1((data,))?.cast::<Tensor>()?.get().var(data.py())))
}

fn holds_values(data: &Bound<'_, PyAny>, depth: usize) -> bool {
    // A list that is inside of itself is nobody's tensor.
    if depth > DEPTH {
        return false;
    }
    let is_value =
        |part: &Bound<'_, PyAny>| part.is_instance_of::<Tensor>() || holds_values(part, depth + 1);
    match (data.cast::<PyList>(), data.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().any(|part| is_value(&part)),
        (_, Ok(tuple)) => tuple.iter().any(|part| is_value(&part)),
        _ => false,
    }
}

/// A tensor over the memory of a NumPy array, without a copy.
///
/// Args:
///     array: The array. Writing it afterwards would change tensors that never change: don't. Bool
///         and unaligned arrays are copied.
///
/// Example:
///     >>> fl.from_numpy(np.zeros((2, 3))).dtype
///     fluvial.float64
#[pyfunction]
fn from_numpy(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = array::as_array(array)?;
    Ok(Tensor::new(Var::new(array::share(&array)?)))
}

/// A tensor with the same number everywhere.
///
/// Args:
///     shape: Its sizes; in a program they may be symbols.
///     value: The number, which integers have to hold; a fraction is cut off.
///     dtype: The element type.
///
/// Example:
///     >>> fl.full((2,), 0.5).tolist()
///     [0.5, 0.5]
#[pyfunction]
#[pyo3(
    signature = (shape, value, dtype=DTypeArg(DType::F32)),
    text_signature = "(shape, value, dtype='float32')"
)]
fn full(py: Python<'_>, shape: ShapeArg, value: NumberArg, dtype: DTypeArg) -> PyResult<Tensor> {
    let ty = type_of(py, dtype, &shape)?;
    call::run(py, &[], || structural::fill(value.0, &ty)).map(Tensor::new)
}

/// What a pickle holds of a tensor.
#[pyfunction]
fn tensor_of_bytes(
    py: Python<'_>,
    bytes: &[u8],
    dtype: DTypeArg,
    dims: List<usize, FEW>,
    tracked: bool,
) -> PyResult<Tensor> {
    let restore = || {
        let size = dims.iter().try_fold(dtype.0.size(), |size, &dim| size.checked_mul(dim));
        if size != Some(bytes.len()) {
            return Err(Error::argument("the bytes are not those of a tensor of this type"));
        }
        let tensor = match dtype.0 {
            DType::Bool => {
                let bools = bytes.iter().map(|byte| *byte != 0).collect();
                fluvial::core::Tensor::from_vec::<bool>(bools, &dims)?
            }
            dtype => {
                let mut tensor = fluvial::core::Tensor::empty(dtype, &dims)?;
                tensor.as_bytes_mut()?.copy_from_slice(bytes);
                tensor
            }
        };
        let var = Var::new(tensor);
        if tracked { var.track() } else { Ok(var) }
    };
    restore().map(Tensor::new).map_err(|error| errors::raise(py, error))
}

/// A tensor over the memory of another library's array, without a copy.
///
/// Args:
///     x: An object with `__dlpack__`: an array of NumPy, PyTorch, JAX, … in main memory. Writing it
///         afterwards would change tensors that never change: don't. Bools are copied.
///     device: None or "cpu".
///     copy: True to copy; False to refuse what needs a copy.
///
/// Example:
///     >>> fl.from_dlpack(np.arange(3.0)).tolist()
///     [0.0, 1.0, 2.0]
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
fn from_dlpack(x: &Bound<'_, PyAny>, device: Option<&str>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = x.py();
    if device.is_some_and(|device| device != "cpu") {
        let error = Error::argument("tensors live in main memory");
        return Err(errors::raise(py, error.remedy("use device=\"cpu\"")));
    }
    let tensor = dlpack::import(x, copy)?;
    Ok(Tensor::new(Var::new(tensor)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(tensor_of_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)
}
