//! `x[key]` with all forms of NumPy: ints, slices, `...`, `None`, masks, and positions as tensors,
//! arrays and lists.

use fluvial::core::{DType, Error, Var, Whole};
use fluvial::ops::{End, Index, getitem, setitem};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

use crate::args::Arg;
use crate::sizes::whole;
use crate::types::{DTypeArg, run_number};
use crate::{array, call, create, errors};

/// The part of `x` that the key names, and the index by which it is the same elements; a copy has none.
pub fn get(x: &Var, key: &Bound<'_, PyAny>) -> PyResult<(Var, Option<Vec<Index>>)> {
    let index = parts(key)?;
    let found = call::run(key.py(), &[x], || getitem(x, &index))?;
    let is_place = |part: &Index| match part {
        Index::Tensor(at) => at.rank() == 0 && at.dtype() != DType::Bool,
        _ => true,
    };
    let is_part = index.iter().all(is_place);
    Ok((found, is_part.then_some(index)))
}

/// `x` with a value in the place of the part that the key names.
pub fn set(x: &Var, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Var> {
    let index = parts(key)?;
    let value = match value.cast::<PyList>() {
        Ok(list) => create::of_lists(list, Some(DTypeArg(x.dtype())))?,
        Err(_) => match Arg::expect(value)? {
            Arg::Number(number) => number.element(value.py(), x.dtype())?,
            other => other.into_var(value.py(), Some(x.dtype()))?,
        },
    };
    call::run(key.py(), &[x, &value], || setitem(x, &index, &value))
}

/// Row `i` along the first axis.
pub fn row(py: Python<'_>, x: &Var, i: usize) -> PyResult<Var> {
    call::run(py, &[x], || getitem(x, &[Index::from(i)]))
}

fn parts(key: &Bound<'_, PyAny>) -> PyResult<Vec<Index>> {
    match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().map(|key| part(&key)).collect(),
        Err(_) => Ok(vec![part(key)?]),
    }
}

fn part(key: &Bound<'_, PyAny>) -> PyResult<Index> {
    if key.is_none() {
        return Ok(Index::NewAxis);
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        let step = slice.getattr("step")?;
        let step = if step.is_none() { 1 } else { saturated(&step)? };
        let (start, stop) = (end(&slice.getattr("start")?)?, end(&slice.getattr("stop")?)?);
        return Ok(Index::Slice { start, stop, step });
    }
    if key.is_instance_of::<PyBool>() {
        return Ok(Index::Tensor(Var::scalar(key.extract::<bool>()?)));
    }
    if let Some(position) = whole(key)? {
        return Ok(Index::At(position));
    }
    if key.is_instance_of::<PyInt>() {
        return Ok(Index::At(Whole::Number(saturated(key)?)));
    }
    if let Ok(list) = key.cast::<PyList>() {
        return positions(Var::new(array::copy(&array::as_array(list)?)?), list.is_empty());
    }
    match Arg::of(key)? {
        Some(Arg::Value(found) | Arg::Weak(found, _)) => positions(found, false),
        _ => {
            let class = key.get_type().name()?.to_string();
            let error = Error::dtype(format!("an index of a tensor cannot be of type `{class}`"));
            let remedy = "an index is made of ints, slices, `...`, None, masks and tensors of ints";
            Err(errors::raise(key.py(), error.remedy(remedy)))
        }
    }
}

/// An end of a slice.
fn end(bound: &Bound<'_, PyAny>) -> PyResult<Option<End>> {
    if bound.is_none() {
        return Ok(None);
    }
    if let Some(position) = whole(bound)? {
        return Ok(Some(End::At(position)));
    }
    match run_number(bound) {
        Some(value) => Ok(Some(End::Value(value))),
        None => Ok(Some(End::from(saturated(bound)?))),
    }
}

/// A position; one that is beyond 64 bits is as far out of every range as the last one that is not.
fn saturated(position: &Bound<'_, PyAny>) -> PyResult<i64> {
    match position.extract::<i64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(position.py()) => {
            Ok(if position.lt(0)? { i64::MIN } else { i64::MAX })
        }
        found => found,
    }
}

/// A tensor of positions or a mask. Integers of any size serve as positions, and so does an empty
/// list, which has no element type of its own.
fn positions(found: Var, empty: bool) -> PyResult<Index> {
    let integer = found.dtype().is_int() && found.dtype() != DType::I64;
    match integer || empty {
        true => match fluvial::ops::cast(&found, DType::I64) {
            Ok(positions) => Ok(Index::Tensor(positions)),
            Err(error) => Err(PyTypeError::new_err(error.to_string())),
        },
        false => Ok(Index::Tensor(found)),
    }
}
