//! How Python enters the functions of the module: what goes wrong before an op is reached, such as
//! an argument of another type or an unknown keyword, becomes an error with the user's line.

use pyo3::exceptions::PyBaseException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// A function of the module as it was made. It is the `self` of the function that users call.
#[pyclass(frozen, module = "fluvial._core")]
struct Entry {
    function: ffi::PyCFunctionFastWithKeywords,
    module: Py<PyModule>,
    name: String,
}

#[pymethods]
impl Entry {
    /// Pickles of a function look its name up here.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.module.bind(py).getattr(name)
    }

    /// It is pickled as the module.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let import = py.import("importlib")?.getattr("import_module")?;
        (import, ("fluvial._core",)).into_pyobject(py)
    }
}

/// Calls the function that the object `slf` holds.
unsafe extern "C" fn enter(
    slf: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    n_args: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with the thread attached, and with the `Entry` that `wrapped` gave.
    let (py, entry) = unsafe {
        let py = Python::assume_attached();
        (py, Bound::from_borrowed_ptr(py, slf).cast_into_unchecked::<Entry>())
    };
    let function = entry.get();
    // SAFETY: the arguments are passed on as they came, to a function of this calling convention.
    let result = unsafe { (function.function)(function.module.as_ptr(), args, n_args, names) };
    if !result.is_null() {
        return result;
    }
    // SAFETY: as above.
    match unsafe { explained(py, function, args, n_args, names) } {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            error.restore(py);
            std::ptr::null_mut()
        }
    }
}

/// What `fluvial._arguments` makes of a failed call. Errors that ops or Python code have raised stay as
/// they are.
#[cold]
unsafe fn explained<'py>(
    py: Python<'py>,
    function: &Entry,
    args: *const *mut ffi::PyObject,
    n_args: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let error = PyErr::fetch(py);
    let is_told = error.value(py).hasattr("kind")? || error.traceback(py).is_some();
    if is_told || !error.is_instance_of::<pyo3::exceptions::PyException>(py) {
        return Err(error);
    }
    let object = |i: isize| {
        // SAFETY: Python passes so many objects, and those that have names after the others.
        unsafe { Bound::from_borrowed_ptr(py, *args.offset(i)) }
    };
    let options = PyDict::new(py);
    // SAFETY: the names are a tuple or null.
    if let Some(names) = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) } {
        for (i, name) in names.try_iter()?.enumerate() {
            options.set_item(name?, object(n_args + i as isize))?;
        }
    }
    let given = PyTuple::new(py, (0..n_args).map(object))?;
    let explain = FUNCTION.import(py, "fluvial._arguments", "explained")?;
    let found = explain.call1((&function.name, given, options, error.value(py)))?;
    match found.is_instance_of::<PyBaseException>() {
        true => Err(PyErr::from_value(found)),
        false => Ok(found),
    }
}

/// The function that users call in the place of one of the module, if it takes arguments.
fn wrapped<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
    function: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = module.py();
    // SAFETY: it is a function in C.
    let (flags, pointer) = unsafe {
        let flags = ffi::PyCFunction_GetFlags(function.as_ptr());
        (flags, ffi::PyCFunction_GetFunction(function.as_ptr()))
    };
    let (Some(pointer), true) = (pointer, flags == ffi::METH_FASTCALL | ffi::METH_KEYWORDS) else {
        return Ok(None);
    };
    // SAFETY: the flags say that it is called this way.
    let pointer = unsafe {
        std::mem::transmute::<ffi::PyCFunction, ffi::PyCFunctionFastWithKeywords>(pointer)
    };
    let doc: Option<String> = function.getattr("__doc__")?.extract()?;
    let signature: Option<String> = function.getattr("__text_signature__")?.extract()?;
    let (doc, signature) = (doc.unwrap_or_default(), signature.unwrap_or_default());
    let text = match signature.is_empty() {
        true => doc,
        false => format!("{name}{signature}\n--\n\n{doc}"),
    };
    let entry =
        Entry { function: pointer, module: module.clone().unbind(), name: name.to_string() };
    let entry = Bound::new(py, entry)?;
    // Python keeps pointers to these as long as the process lives, as the module does.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: std::ffi::CString::new(name)?.into_raw(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: enter },
        ml_flags: flags,
        ml_doc: std::ffi::CString::new(text)?.into_raw(),
    }));
    // SAFETY: the definition lives for ever, and `enter` is of the kind that the flags say.
    unsafe {
        let made = ffi::PyCFunction_NewEx(definition, entry.as_ptr(), module.name()?.as_ptr());
        Bound::from_owned_ptr_or_err(py, made).map(Some)
    }
}

/// Puts the functions that users call in the places of those of the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for (name, value) in module.dict().copy()?.iter() {
        if value.is_instance_of::<PyCFunction>() {
            let name: String = name.extract()?;
            if let Some(function) = wrapped(module, &name, &value)? {
                module.setattr(&*name, function)?;
            }
        }
    }
    Ok(())
}
