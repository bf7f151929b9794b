//! Errors of the core as Python exceptions, and exceptions of Python callables as errors.

use std::error::Error as _;
use std::io;

use fluvial::core::{Error, ErrorKind, Loc, Var};
use fluvial::ops::host::Raised;
use pyo3::exceptions::{
    PyAssertionError, PyBaseException, PyIndexError, PyKeyError, PyKeyboardInterrupt,
    PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::tensor::Tensor;
use crate::{allocator, lines};

/// The exception for an error. It starts with the user's line: the one the error has, if it came
/// from Python, or else the line that runs now.
///
/// What a Python callable raised comes back as it was. Faults of files are what Python raises for
/// them (`FileNotFoundError`, ...), a failed assertion of a program is an `AssertionError`, and a
/// `raise` or `assert` of a program is the exception itself. All others have attributes for code that reacts to them:
/// `kind`, `op`, `line` and `remedy`.
#[cold]
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    if let Some(exception) = raised(py, &error).or_else(|| remade(py, &error)) {
        return exception;
    }
    if error.kind() == ErrorKind::Memory {
        allocator::keep_back();
    }
    let line = line_of(py, &error);
    let exception = exception(py, &error, message(&error, line));
    let value = exception.value(py);
    let line = line.is_known().then(|| line.to_string());
    let told = value
        .setattr("kind", error.kind().name())
        .and_then(|()| value.setattr("op", error.op_name()))
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("remedy", error.remedy_text()));
    // It is raised all the same.
    drop(told);
    exception
}

fn exception(py: Python<'_>, error: &Error, text: String) -> PyErr {
    if let Some(cause) = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
        return io::Error::new(cause.kind(), text).into();
    }
    match error.kind() {
        ErrorKind::Shape | ErrorKind::Argument | ErrorKind::Parse | ErrorKind::Version => {
            PyValueError::new_err(text)
        }
        ErrorKind::DType | ErrorKind::Arity => PyTypeError::new_err(text),
        ErrorKind::Index => PyIndexError::new_err(text),
        ErrorKind::Memory => PyMemoryError::new_err(text),
        ErrorKind::Interrupted => match py.check_signals() {
            Err(exception) => exception,
            Ok(()) => PyKeyboardInterrupt::new_err(text),
        },
        ErrorKind::State => state_error(py, text),
        ErrorKind::File => PyOSError::new_err(text),
        ErrorKind::Assertion => PyAssertionError::new_err(text),
        // Derivatives, sizes that are not known yet, programs that are not finished, and our faults.
        _ => PyRuntimeError::new_err(text),
    }
}

/// What a Python callable raised, on its way through the core.
#[cold]
pub fn callback(exception: PyErr) -> Error {
    Error::new(ErrorKind::Callback, exception.to_string()).source_error(Box::new(exception))
}

fn raised(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let exception = error.source()?.downcast_ref::<PyErr>()?;
    Some(exception.clone_ref(py))
}

/// The user's line: never one of our Rust code, which users do not know.
fn line_of(py: Python<'_>, error: &Error) -> Loc {
    match error.loc() {
        Some(known @ Loc::Interned(_)) => known,
        _ => lines::here(py),
    }
}

/// Like the error's own text, with that line.
fn message(error: &Error, loc: Loc) -> String {
    let mut text = String::new();
    if loc.is_known() {
        text += &format!("{loc}: ");
    }
    if let Some(op) = error.op_text().filter(|_| error.kind() != ErrorKind::Assertion) {
        text += &format!("{op}: ");
    }
    text += error.message();
    if let Some(remedy) = error.remedy_text() {
        text += &format!("\n  remedy: {remedy}");
    }
    for note in error.notes() {
        text += &format!("\n  note: {note}");
    }
    text
}

/// What a `raise` or `assert` of Python raises in a program.
fn remade(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let raised = error.source()?.downcast_ref::<Raised>()?;
    let values: Vec<Tensor> =
        raised.values.iter().map(|value| Tensor::new(Var::new(value.clone()))).collect();
    let words: Vec<&str> = raised.args.iter().map(|word| &**word).collect();
    let line = line_of(py, error);
    let line = line.is_known().then(|| line.to_string());
    let made = py
        .import("fluvial._convert.raised")
        .and_then(|module| module.getattr("remade"))
        .and_then(|remade| remade.call1((&*raised.class, words, values, line)));
    Some(made.map_or_else(|fault| fault, PyErr::from_value))
}

/// The class of the exception for errors of a kind.
pub fn class_of(py: Python<'_>, kind: ErrorKind) -> Py<PyAny> {
    // What a function of the user's raises may be of any class.
    match kind {
        ErrorKind::Callback => py.get_type::<PyBaseException>().into_any().unbind(),
        _ => exception(py, &Error::new(kind, ""), String::new()).get_type(py).into_any().unbind(),
    }
}

/// `fluvial.StateError`, a `KeyError` that shows its message as it is.
fn state_error(py: Python<'_>, text: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match CLASS.import(py, "fluvial._errors", "StateError") {
        Ok(class) => PyErr::from_type(class.clone(), text),
        Err(_) => PyKeyError::new_err(text),
    }
}
