//! `x[key]`: ints, slices, `...`, `None` and one tensor of positions.

use fluvial::core::{Dim, Error, Result, Var};
use fluvial::ops::{gather, narrow, reshape, slice};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};

use crate::args::Arg;
use crate::call;

/// One part of a key.
enum Part {
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
    NewAxis,
    Positions(Var),
}

/// The part of `x` that the key names.
pub fn get(x: &Var, key: &Bound<'_, PyAny>) -> PyResult<Var> {
    let parts = parts(x, key)?;
    call::run(key.py(), &[x], || take(x, &parts))
}

/// Row `i` along the first axis.
pub fn row(py: Python<'_>, x: &Var, i: usize) -> PyResult<Var> {
    call::run(py, &[x], || take(x, &[Part::At(i as i64)]))
}

fn parts(x: &Var, key: &Bound<'_, PyAny>) -> PyResult<Vec<Part>> {
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let is_ellipsis = |key: &Bound<'_, PyAny>| key.is_instance_of::<PyEllipsis>();
    let n_ellipses = keys.iter().filter(|key| is_ellipsis(key)).count();
    let n_named = keys.iter().filter(|key| !is_ellipsis(key) && !key.is_none()).count();
    if n_named > x.rank() || n_ellipses > 1 {
        return Err(PyIndexError::new_err(format!("the index has too many parts for {}", x.ty())));
    }
    let mut parts = Vec::new();
    for key in &keys {
        if is_ellipsis(key) {
            let rest = (n_named..x.rank()).map(|_| Part::Slice(None, None, 1));
            parts.extend(rest);
        } else {
            parts.push(part(key)?);
        }
    }
    Ok(parts)
}

fn part(key: &Bound<'_, PyAny>) -> PyResult<Part> {
    if key.is_none() {
        return Ok(Part::NewAxis);
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        let bound = |name: &str| slice.getattr(name)?.extract::<Option<i64>>();
        return Ok(Part::Slice(bound("start")?, bound("stop")?, bound("step")?.unwrap_or(1)));
    }
    if key.is_instance_of::<PyInt>() && !key.is_instance_of::<PyBool>() {
        return Ok(Part::At(key.extract()?));
    }
    match Arg::of(key)? {
        Some(Arg::Value(positions)) => Ok(Part::Positions(positions)),
        _ => Err(PyTypeError::new_err(format!(
            "an index is made of ints, slices, `...`, None and tensors of ints, not {}",
            key.get_type()
        ))),
    }
}

fn take(x: &Var, parts: &[Part]) -> Result<Var> {
    let mut x = x.clone();
    let mut axis = 0;
    // The sizes of the result: of an axis taken at one position, none.
    let mut dims = Vec::new();
    for part in parts {
        match part {
            Part::NewAxis => dims.push(Dim::size(1)),
            Part::At(i) => {
                let size = x.ty().dim(axis);
                x = narrow(&x, axis as i64, position(*i, size)?, Dim::size(1))?;
                axis += 1;
            }
            Part::Slice(start, stop, step) => {
                if (start, stop, step) != (&None, &None, &1) {
                    x = slice(&x, axis as i64, *start, *stop, *step)?;
                }
                dims.push(x.ty().dim(axis));
                axis += 1;
            }
            Part::Positions(positions) => {
                x = gather(&x, positions, axis as i64)?;
                dims.extend(positions.dims());
                axis += positions.rank();
            }
        }
    }
    dims.extend_from_slice(&x.ty().dims()[axis..]);
    if dims[..] == *x.ty().dims() { Ok(x) } else { reshape(&x, &dims) }
}

/// The position counted from the front, which may be a symbolic expression.
fn position(i: i64, size: Dim) -> Result<Dim> {
    let out_of_range =
        || Error::index(format!("position {i} is out of range for an axis of size {size}"));
    let distance = Dim::size(i.unsigned_abs() as usize);
    let from_front = if i < 0 { size.sub(distance).map_err(|_| out_of_range())? } else { distance };
    match (from_front.value(), size.value()) {
        (Some(found), Some(size)) if found >= size => Err(out_of_range()),
        _ => Ok(from_front),
    }
}
