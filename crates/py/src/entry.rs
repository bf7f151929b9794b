//! How Python enters the functions of the module: what goes wrong before an op is reached, such as
//! an argument of another type or an unknown keyword, becomes an error with the user's line. Keywords under the
//! names that others have for them are renamed.

use pyo3::exceptions::PyBaseException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};

use crate::generated::OTHER_NAMES;

/// A function of the module as it was made. It is the `self` of the function that users call.
#[pyclass(frozen, module = "fluvial._core")]
struct Entry {
    function: ffi::PyCFunctionFastWithKeywords,
    module: Py<PyModule>,
    name: String,
    /// What others call its arguments, and our names; none for one that is accepted without effect.
    others: Vec<(Py<PyString>, Option<Py<PyString>>)>,
}

/// Arguments as Python passes them.
#[derive(Clone, Copy)]
struct Given {
    args: *const *mut ffi::PyObject,
    /// How many have no name.
    n_args: ffi::Py_ssize_t,
    /// A tuple of the names of the others, or null.
    names: *mut ffi::PyObject,
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
    let given = Given { args, n_args, names };
    // SAFETY: as above.
    unsafe {
        // Names that stand in code are interned: there is one object for each.
        if !names.is_null() && function.takes_other(names) {
            return returned(py, renamed(py, function, given));
        }
        let result = function.call(given);
        if !result.is_null() { result } else { returned(py, explained(py, function, given)) }
    }
}

impl Entry {
    /// Whether one of the names, which are a tuple, is the object of another name.
    #[inline]
    unsafe fn takes_other(&self, names: *mut ffi::PyObject) -> bool {
        // SAFETY: the caller passes a tuple, and the places are below its size.
        let name = |i| unsafe { ffi::PyTuple_GetItem(names, i) };
        let is_other = |name| self.others.iter().any(|(other, _)| other.as_ptr() == name);
        // SAFETY: the caller passes a tuple.
        let count = unsafe { ffi::PyTuple_Size(names) };
        (0..count).any(|i| is_other(name(i)))
    }

    /// Calls the function as it was made.
    unsafe fn call(&self, given: Given) -> *mut ffi::PyObject {
        let Given { args, n_args, names } = given;
        // SAFETY: the arguments are as Python passes them, to a function of this calling convention.
        unsafe { (self.function)(self.module.as_ptr(), args, n_args, names) }
    }
}

fn returned(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    match result {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            error.restore(py);
            std::ptr::null_mut()
        }
    }
}

/// Calls a function with our names in the places of those that others have.
unsafe fn renamed<'py>(
    py: Python<'py>,
    function: &Entry,
    given: Given,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: Python passes so many objects, and those that have names after the others.
    let (mut args, names) = unsafe {
        let object = |i: isize| *given.args.offset(i);
        let args: Vec<*mut ffi::PyObject> = (0..given.n_args).map(object).collect();
        (args, Bound::from_borrowed_ptr(py, given.names).cast_into_unchecked::<PyTuple>())
    };
    let mut own: Vec<Bound<'_, PyAny>> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let is_it = |other: &Py<PyString>| name.eq(other.bind(py)).unwrap_or(false);
        let ours = match function.others.iter().find(|(other, _)| is_it(other)) {
            None => name,
            Some((_, None)) => continue,
            Some((_, Some(ours))) => {
                let ours = ours.bind(py).clone().into_any();
                let mut known = names.iter().chain(own.iter().cloned());
                if known.any(|known| known.eq(&ours).unwrap_or(false)) {
                    let twice = py.import("fluvial._arguments")?.getattr("given_twice")?;
                    return Err(PyErr::from_value(twice.call1((&function.name, name, ours))?));
                }
                ours
            }
        };
        own.push(ours);
        // SAFETY: as above.
        args.push(unsafe { *given.args.offset(given.n_args + i as isize) });
    }
    let own = PyTuple::new(py, own)?;
    let given = Given { args: args.as_ptr(), n_args: given.n_args, names: own.as_ptr() };
    // SAFETY: the names and the arguments live until the call is over.
    unsafe {
        let result = function.call(given);
        match result.is_null() {
            false => Ok(Bound::from_owned_ptr(py, result)),
            true => explained(py, function, given),
        }
    }
}

/// What `fluvial._arguments` makes of a failed call. Errors that ops or Python code have raised stay as
/// they are.
#[cold]
unsafe fn explained<'py>(
    py: Python<'py>,
    function: &Entry,
    given: Given,
) -> PyResult<Bound<'py, PyAny>> {
    let Given { args, n_args, names } = given;
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
            let name = name?;
            let is_it = |other: &Py<PyString>| name.eq(other.bind(py)).unwrap_or(false);
            if function.others.iter().any(|(other, _)| is_it(other)) {
                // A name that was made when the program ran, and not in its text.
                // SAFETY: what is given is what Python passed.
                return unsafe {
                    renamed(py, function, Given { args, n_args, names: names.as_ptr() })
                };
            }
            options.set_item(name, object(n_args + i as isize))?;
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
    let interned = |text: &str| PyString::intern(py, text).unbind();
    let others = OTHER_NAMES.iter().filter(|(function, _)| *function == name);
    let others = others.flat_map(|(_, others)| others.iter()).map(|(other, ours)| {
        (interned(other), Some(*ours).filter(|ours| !ours.is_empty()).map(interned))
    });
    let entry = Entry {
        function: pointer,
        module: module.clone().unbind(),
        name: name.to_string(),
        others: others.collect(),
    };
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

/// What others call the arguments of the ops' functions, by function, with our names; under an empty name, what
/// they call arguments everywhere, with `|` between several names of ours. An empty name of ours stands for one that is
/// accepted without effect.
#[pyfunction]
fn other_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (function, others) in OTHER_NAMES {
        let found = PyDict::new(py);
        for (other, ours) in *others {
            match found.get_item(other)? {
                Some(known) => found.set_item(other, format!("{known}|{ours}"))?,
                None => found.set_item(other, ours)?,
            }
        }
        all.set_item(function, found)?;
    }
    Ok(all)
}

/// Puts the functions that users call in the places of those of the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(other_names, module)?)?;
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
