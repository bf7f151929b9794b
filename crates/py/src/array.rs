//! NumPy arrays in and out.

use fluvial::core::{DType, Element, Number, Result, Tensor, Var};
use fluvial::tensor::{Kind, dispatch};
use numpy::npyffi::{NPY_ARRAY_ALIGNED, NpyTypes, PY_ARRAY_API, get_type_object};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::{errors, sequence};

/// Imports NumPy before its functions are used in C, which panic if it cannot be imported: because it
/// is not there, or Ctrl-C comes meanwhile.
fn ready(py: Python<'_>) -> PyResult<()> {
    static IMPORTED: PyOnceLock<()> = PyOnceLock::new();
    IMPORTED.get_or_try_init(py, || py.import("numpy").map(drop)).copied()
}

/// The tensor of an array or a NumPy scalar, as a copy; nothing for other objects.
pub fn of_object(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    ready(object.py())?;
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return copy(array).map(Some);
    }
    if !object.hasattr("__array__")? {
        return Ok(None);
    }
    copy(&as_array(object)?).map(Some)
}

/// What NumPy makes of an object: nested lists, scalars, anything with `__array__`.
pub fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    sequence::check_length(object)?;
    let numpy = object.py().import("numpy")?;
    Ok(numpy.call_method1("asarray", (object,))?.cast_into()?)
}

/// A copy of the array.
pub fn copy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let py = array.py();
    let dtype = dtype_of(array)?;
    let copied = if dtype == DType::Bool {
        // A view as bool may hold other bytes than 0 and 1.
        let bytes = borrow(array, DType::U8)?.to_vec::<u8>();
        let bools = bytes.map(|bytes| bytes.into_iter().map(|byte| byte != 0).collect());
        bools.and_then(|bools| Tensor::from_vec::<bool>(bools, array.shape()))
    } else {
        let source = borrow(array, dtype)?;
        match source.as_bytes() {
            None => source.contiguous(),
            Some(bytes) => Tensor::empty(dtype, array.shape()).and_then(|mut tensor| {
                tensor.as_bytes_mut()?.copy_from_slice(bytes);
                Ok(tensor)
            }),
        }
    };
    copied.map_err(|error| errors::raise(py, error))
}

/// A tensor over the memory of the array, which must not be written from now on.
pub fn share(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    match dtype_of(array)? {
        DType::Bool => copy(array),
        dtype => borrow(array, dtype),
    }
}

/// A tensor of element type `dtype` over the memory of the array.
fn borrow(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> PyResult<Tensor> {
    let size = dtype.size() as isize;
    let whole = array.strides().iter().all(|stride| stride % size == 0);
    if !whole || !array.is_aligned() {
        let packed = array.call_method0("copy")?;
        return borrow(packed.cast::<PyUntypedArray>()?, dtype);
    }
    let strides: Vec<isize> = array.strides().iter().map(|stride| stride / size).collect();
    let owner = Box::new(array.clone().unbind());
    // SAFETY: the array is valid as long as it is referred to, which the owner does; it is aligned,
    // and its elements have this size. That nobody writes it is what `share` asks of its callers,
    // and `copy` drops the tensor before other Python code can run.
    let tensor = unsafe {
        let data = (*array.as_array_ptr()).fields.data.cast_const().cast();
        Tensor::from_owner(dtype, array.shape(), &strides, data, owner)
    };
    tensor.map_err(|error| errors::raise(array.py(), error))
}

/// Refuses elements that an integer type cannot hold.
pub fn check_range(tensor: &Tensor, dtype: DType) -> Result<()> {
    let held_anyway = tensor.dtype().range().zip(dtype.range());
    // A cast refuses complex numbers.
    if !dtype.is_int()
        || tensor.dtype().is_complex()
        || held_anyway.is_some_and(|(own, to)| own.0 >= to.0 && own.1 <= to.1)
    {
        return Ok(());
    }
    dispatch!(tensor.dtype(), T => tensor.to_vec::<T>()?.into_iter().try_for_each(|element| {
        let number = match (T::DTYPE.is_float(), T::DTYPE) {
            (true, _) => Number::Float(element.to_f64()),
            (false, DType::U64) => Number::from(element.to_i64() as u64),
            (false, _) => Number::from(element.to_i64()),
        };
        number.check(dtype)
    }))
}

fn dtype_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<DType> {
    let descr = array.dtype();
    let kind = match descr.kind() {
        b'b' => Some(Kind::Bool),
        b'u' => Some(Kind::Unsigned),
        b'i' => Some(Kind::Signed),
        b'f' => Some(Kind::Float),
        b'c' => Some(Kind::Complex),
        _ => None,
    };
    let of_name = || {
        let name: String = descr.getattr("name").ok()?.extract().ok()?;
        DType::ALL.into_iter().find(|dtype| dtype.is_stored() && dtype.long_name() == name)
    };
    let dtype = kind.and_then(|kind| DType::of(kind, descr.itemsize())).or_else(of_name);
    let native = descr.is_native_byteorder() != Some(false);
    dtype.filter(|_| native).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "an array of dtype {descr} cannot become a tensor\n  \
             remedy: convert it with `astype`, for example to {}",
            DType::F32.long_name()
        ))
    })
}

/// NumPy's dtype. Floats of 8 bits are those of the package `ml_dtypes`, where it is installed.
fn descr_of(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    if dtype.is_stored()
        && let Ok(others) = py.import("ml_dtypes")
    {
        return PyArrayDescr::new(py, others.getattr(dtype.long_name())?);
    }
    if dtype.is_of_numpy() {
        return PyArrayDescr::new(py, dtype.long_name());
    }
    let also = if dtype.is_stored() { ", or install the package `ml_dtypes`" } else { "" };
    Err(PyTypeError::new_err(format!(
        "NumPy has no {}\n  remedy: cast the tensor to float32 first{also}",
        dtype.long_name()
    )))
}

/// Keeps the memory that an array shows.
#[pyclass(frozen, module = "fluvial._core")]
struct Memory(Var);

/// A read-only array over the memory of a tensor.
pub fn to_numpy(py: Python<'_>, var: Var) -> PyResult<Bound<'_, PyAny>> {
    ready(py)?;
    let owner = Bound::new(py, Memory(var))?;
    let tensor = owner.get().0.tensor().map_err(|error| errors::raise(py, error))?;
    let descr = descr_of(py, tensor.dtype())?;
    let size = tensor.dtype().size() as isize;
    let mut dims: Vec<isize> = tensor.dims().iter().map(|&dim| dim as isize).collect();
    let mut strides: Vec<isize> = tensor.strides().iter().map(|stride| stride * size).collect();
    let rank = dims.len() as i32;
    // SAFETY: dims and strides have `rank` elements and describe memory that the tensor owns. The
    // array holds a reference to the owner, whose value never changes or moves, and is read-only.
    unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr.into_dtype_ptr(),
            rank,
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            tensor.data_ptr().cast_mut().cast(),
            NPY_ARRAY_ALIGNED,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let base = owner.clone().into_any().into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}
