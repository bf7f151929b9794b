//! Sequences as arguments: read element by element, never more than fit, and never deaf to Ctrl-C.

use std::ops::Deref;

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyRange, PyString};

use crate::allocator;

/// The most elements of what there is one of for each axis.
pub const FEW: usize = 64;

/// The most elements of other sequences.
pub const MANY: usize = 1 << 20;

/// The most elements of a range that becomes a tensor.
const LONG: usize = 1 << 24;

/// How deep lists may stand in lists; no tensor has so many axes.
pub const DEPTH: usize = 32;

/// How many elements are read before somebody looks for Ctrl-C.
const STRETCH: usize = 1 << 12;

/// Reads a sequence. One that says to be longer than `most` is refused before anything is read of it, and one that does
/// not end when there are so many.
pub fn read<'py, T>(
    object: &Bound<'py, PyAny>,
    most: usize,
    mut element: impl FnMut(usize, Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let len = object.len().unwrap_or_else(|_| usize::from(is_endless(object)) * usize::MAX);
    if len > most {
        return Err(too_long(object, most));
    }
    let iter = object.try_iter()?;
    let mut found = Vec::new();
    for (i, item) in iter.enumerate() {
        if i >= most {
            return Err(too_long(object, most));
        }
        if i % STRETCH == STRETCH - 1 {
            object.py().check_signals()?;
        }
        if found.len() == found.capacity() {
            found.try_reserve(len.clamp(4, STRETCH).max(found.len())).map_err(|_| {
                PyMemoryError::new_err(format!("there is no memory for {i} elements of a sequence"))
            })?;
        }
        allocator::check()?;
        found.push(element(i, item?)?);
    }
    Ok(found)
}

/// Whether it is a range that is too long even for its length to be a number.
fn is_endless(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyRange>()
}

#[cold]
fn too_long(object: &Bound<'_, PyAny>, most: usize) -> PyErr {
    let class = object.get_type();
    let class = class.name().map_or_else(|_| "sequence".into(), |name| name.to_string());
    let found = match object.len() {
        Ok(len) => format!("a {class} of {len} elements"),
        Err(_) => format!("a {class} that goes on"),
    };
    PyValueError::new_err(format!("expected at most {most} elements, found {found}"))
}

/// Refuses what NumPy would take for ever to look at.
pub fn check_length(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if !object.is_instance_of::<PyRange>() || object.len().is_ok_and(|len| len <= LONG) {
        return Ok(());
    }
    let fault = too_long(object, LONG).value(object.py()).to_string();
    Err(PyValueError::new_err(format!("{fault}\n  remedy: make it with `fl.arange`")))
}

/// A sequence of at most `MOST` elements as an argument.
#[derive(Clone, Debug)]
pub struct List<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> Default for List<T, MOST> {
    fn default() -> List<T, MOST> {
        List(Vec::new())
    }
}

impl<T, const MOST: usize> Deref for List<T, MOST> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<'py, T, const MOST: usize> FromPyObject<'_, 'py> for List<T, MOST>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<List<T, MOST>> {
        // SAFETY: the thread is attached, and the object is alive.
        let is_sequence = unsafe { ffi::PySequence_Check(value.as_ptr()) } != 0;
        if value.is_instance_of::<PyString>() || !is_sequence {
            let class = value.get_type();
            return Err(PyTypeError::new_err(format!("expected a sequence, found {class}")));
        }
        read(&value, MOST, |_, item| item.extract().map_err(Into::into)).map(List)
    }
}
