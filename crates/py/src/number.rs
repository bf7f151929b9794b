//! Python numbers that only the run of a program knows: counters of loops, what a condition chose.
//!
//! They are carried as `bool`, `i64` or `f64` and behave as `bool`, `int` and `float`: among
//! themselves they follow Python, beside a tensor they take its element type.

use fluvial::core::{DType, Error, Var, structural};
use fluvial::ops;
use fluvial::ops::host::{Assert, Raised};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::tensor::{Stands, Tensor};
use crate::{call, errors};

/// The element type of a number beside values of type `like`: theirs, except that a float turns
/// integers into `float32`, a complex number anything into complex numbers, and an int turns bools into `int64`.
pub fn dtype_beside(own: DType, like: Option<DType>) -> DType {
    match like {
        _ if own.is_complex() => like.map_or(DType::C64, DType::complex),
        Some(like) if like.is_inexact() => like,
        _ if own.is_float() => DType::F32,
        Some(like) if like.is_int() => like,
        _ => own,
    }
}

/// The number as a value beside others of type `like`. The run checks that an int fits.
pub fn beside(py: Python<'_>, var: Var, stands: Stands, like: Option<DType>) -> PyResult<Var> {
    if stands == Stands::Either && !like.is_some_and(DType::is_inexact) {
        let what = "a number is an int or a float, as the run chooses, and its element type follows from that";
        let remedy = "write the int as a float, such as `1.0`, or make a tensor of both";
        return Err(errors::raise(py, Error::symbolic(what).remedy(remedy)));
    }
    let dtype = dtype_beside(var.dtype(), like);
    let narrow = dtype.is_int() && var.dtype() == DType::I64 && dtype != DType::I64;
    call::run(py, &[&var], || {
        if narrow {
            let (least, most) = dtype.range().unwrap_or_default();
            let most = most.min(i64::MAX.into()) as i64;
            let above = ops::ge(&var, &Var::scalar(least as i64))?;
            let fits = ops::logical_and(&above, &ops::le(&var, &Var::scalar(most))?)?;
            let message = format!("a number does not fit {dtype}");
            let raised = Raised {
                class: "builtins:ValueError".into(),
                args: vec![format!("t{message}").into()],
                message: message.into(),
                values: Vec::new(),
            };
            Assert::raise_unless(&fits, raised, &[])?;
        }
        structural::cast(&var, dtype)
    })
}

/// What Python computes from two numbers, by the name of the op: `fluvial._numbers.binary`.
pub fn binary<'py>(
    name: &str,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FUNCTION.import(a.py(), "fluvial._numbers", "binary")?.call1((name, a, b))
}

/// An operator of one number; a bool counts as an int.
pub fn unary(
    py: Python<'_>,
    tensor: &Tensor,
    f: impl FnOnce(&Var) -> fluvial::core::Result<Var> + Send,
) -> PyResult<Tensor> {
    let (stands, x) = (tensor.stands(py), tensor.var(py));
    let is_number = stands != Stands::Itself;
    let result = call::run(py, &[&x], || match is_number && x.dtype() == DType::Bool {
        true => f(&structural::cast(&x, DType::I64)?),
        false => f(&x),
    });
    result.map(|result| Tensor::standing(stands, result))
}

/// The Python number that a value of the program being built stands for.
///
/// Args:
///     value: A value without axes: bool, int64 or float64.
///     either: Whether only the run knows if it is an int or a float; such a value is float64.
#[pyfunction]
#[pyo3(signature = (value, either=false))]
fn number_of(py: Python<'_>, value: &Tensor, either: bool) -> PyResult<Tensor> {
    let var = value.var(py);
    let known = matches!(var.dtype(), DType::Bool | DType::I64 | DType::F64);
    match known && var.rank() == 0 {
        true => {
            let stands = if either { Stands::Either } else { Stands::Number };
            Ok(Tensor::standing(stands, var))
        }
        false => {
            let error = Error::dtype(format!("{} stands for no Python number", var.ty()));
            Err(errors::raise(py, error))
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(number_of, module)?)
}
