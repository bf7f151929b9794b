//! Values as arguments: tensors, NumPy arrays, and Python numbers, which take the element type of
//! the tensors they meet.

use std::str::FromStr;

use fluvial::core::{self, Complex, DType, Dim, Error, Result, Var, Whole, decisions};
use fluvial::ops;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};

use crate::sequence::{self, FEW, List};
use crate::sizes::PyDim;
use crate::tensor::{Stands, Tensor};
use crate::{array, call, errors, number};

/// What stands where a value is expected.
pub enum Arg {
    Value(Var),
    Number(Number),
    /// A Python number that only the run of a program knows.
    Weak(Var, Stands),
    /// A size that a program leaves open.
    Size(Dim),
}

/// A Python number. It has no element type of its own.
#[derive(Clone, Copy)]
pub enum Number {
    Bool(bool),
    Int(i128),
    /// An int of more than 128 bits.
    Vast(f64),
    Float(f64),
    Complex(Complex<f64>),
}

impl Arg {
    /// Looks at an object; nothing if it is neither a tensor, a number nor an array.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
        if let Ok(tensor) = object.cast::<Tensor>() {
            let (py, tensor) = (object.py(), tensor.get());
            let var = tensor.var(py);
            return Ok(Some(match tensor.stands(py) {
                Stands::Itself => Arg::Value(var),
                stands => Arg::Weak(var, stands),
            }));
        }
        if let Some(number) = Number::of(object)? {
            return Ok(Some(Arg::Number(number)));
        }
        if let Ok(dim) = object.cast::<PyDim>() {
            return Ok(Some(Arg::Size(dim.get().0)));
        }
        if let Some(tensor) = array::of_object(object)? {
            return Ok(Some(Arg::Value(Var::new(tensor))));
        }
        Arg::of_open(object)
    }

    /// A Python number that each call of a built function has anew (`fluvial._opens`).
    fn of_open(object: &Bound<'_, PyAny>) -> PyResult<Option<Arg>> {
        let py = object.py();
        match object.getattr_opt(intern!(py, "_fl_number"))? {
            Some(number) => Arg::of(&number),
            None => Ok(None),
        }
    }

    /// [`Arg::of`], where nothing else is allowed.
    pub fn expect(object: &Bound<'_, PyAny>) -> PyResult<Arg> {
        Arg::of(object)?.ok_or_else(|| {
            let class = object.get_type();
            if object.hasattr("lazy").unwrap_or(false) {
                return PyTypeError::new_err(
                    "an expression of variables has no value before it is compiled and fed\n  \
                     remedy: use its operators and methods, such as `x.exp()`",
                );
            }
            if object.hasattr("row_lengths").unwrap_or(false) {
                return PyTypeError::new_err(
                    "expected a tensor, found sequences of different lengths\n  \
                     remedy: `ragged.map(f)` applies a function or a layer to all rows; or take \
                     `ragged.data` or `ragged.padded()`",
                );
            }
            PyTypeError::new_err(format!(
                "expected a tensor, a number or an array, found {class}\n  \
                 remedy: make a tensor of it with `fl.tensor`"
            ))
        })
    }

    /// The value; a number takes its element type from `like`.
    pub fn into_var(self, py: Python<'_>, like: Option<DType>) -> PyResult<Var> {
        match self {
            Arg::Value(var) => Ok(var),
            Arg::Number(number) => number.literal(py, like),
            Arg::Weak(var, stands) => number::beside(py, var, stands, like),
            Arg::Size(size) => {
                // As an int: beside bools it is an `i64`, and it has to fit other integers.
                let dtype = like.filter(|like| !like.is_bool()).unwrap_or(DType::I64);
                call::run(py, &[], || {
                    fits(size.into(), dtype)?;
                    ops::whole_size(size.into(), dtype)
                })
            }
        }
    }
}

/// What an op does with a number and a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meets {
    /// The number has to be one of the tensor's element type.
    Computes,
    /// It may be any.
    Compares,
}

impl Arg {
    /// The value beside a tensor of type `like`.
    #[inline]
    pub fn met(self, py: Python<'_>, like: DType, meets: Meets) -> PyResult<Var> {
        match (self, meets) {
            (Arg::Number(number), Meets::Compares) => number.compared(py, like),
            // Beside integers of fewer bits it keeps its own.
            (Arg::Weak(var, Stands::Number), Meets::Compares)
                if var.dtype() == DType::I64 && like.is_int() && like.size() < 8 =>
            {
                Ok(var)
            }
            (arg, _) => arg.into_var(py, Some(like)),
        }
    }
}

/// Refuses a size that a small integer type cannot hold, where it is decided.
fn fits(size: Whole, dtype: DType) -> Result<()> {
    let Some((low, high)) = dtype.range().filter(|_| dtype.size() <= 2) else { return Ok(()) };
    let (low, high) = (low as i64, high as i64);
    for inside in [size.sub(Whole::Number(low))?, Whole::Number(high).sub(size)?] {
        if decisions::not_negative(inside)? == Some(false) {
            return Err(Error::argument(format!("the size {size} does not fit {dtype}")));
        }
    }
    Ok(())
}

impl Number {
    /// The number, if the object is one.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
        if object.is_instance_of::<PyFloat>() {
            return Ok(Some(Number::Float(object.extract()?)));
        }
        if object.is_instance_of::<PyBool>() {
            return Ok(Some(Number::Bool(object.extract()?)));
        }
        if object.is_instance_of::<PyInt>() {
            return whole(object).map(Some);
        }
        if let Ok(complex) = object.cast::<PyComplex>() {
            return Ok(Some(Number::Complex(Complex::new(complex.real(), complex.imag()))));
        }
        Ok(None)
    }

    /// The number as a double; a complex one is an error.
    pub fn to_f64(self) -> PyResult<f64> {
        match self {
            Number::Complex(_) => Err(PyTypeError::new_err("a complex number cannot stand here")),
            real => Ok(core::Number::from(real).to_f64()),
        }
    }

    /// A 0-d constant of the element type that the number has beside values of type `like`.
    pub fn literal(self, py: Python<'_>, like: Option<DType>) -> PyResult<Var> {
        let own = match self {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) | Number::Vast(_) => DType::I64,
            Number::Float(_) => DType::F64,
            Number::Complex(_) => DType::C128,
        };
        self.element(py, number::dtype_beside(own, like))
    }

    /// A 0-d constant of an element type, which has to hold the number.
    pub fn element(self, py: Python<'_>, dtype: DType) -> PyResult<Var> {
        let one = match self {
            Number::Vast(value) if value.is_infinite() => {
                Err(Error::argument("an int of so many digits fits no element type")
                    .remedy("for infinity, write `float(\"inf\")`"))
            }
            _ => core::Number::from(self).element(dtype),
        };
        one.map(Var::new).map_err(|error| errors::raise(py, error))
    }

    /// [`Number::literal`] to compare with: what integers cannot hold is beyond all of them, as infinity is.
    pub fn compared(self, py: Python<'_>, like: DType) -> PyResult<Var> {
        match self {
            Number::Int(value) if core::Number::Int(value).check(like).is_err() => {
                let beyond = if value < 0 { f64::NEG_INFINITY } else { f64::INFINITY };
                Number::Float(beyond).literal(py, Some(like))
            }
            Number::Vast(value) if !like.is_inexact() || value.is_infinite() => {
                Number::Float(value * f64::INFINITY).literal(py, Some(like))
            }
            _ => self.literal(py, Some(like)),
        }
    }
}

impl From<Number> for core::Number {
    fn from(number: Number) -> core::Number {
        match number {
            Number::Bool(value) => value.into(),
            Number::Int(value) => value.into(),
            Number::Vast(value) | Number::Float(value) => value.into(),
            Number::Complex(value) => value.into(),
        }
    }
}

/// A Python int. Those of more than 128 bits, which no integer type holds, are floats or infinite.
fn whole(object: &Bound<'_, PyAny>) -> PyResult<Number> {
    match object.extract() {
        Ok(whole) => Ok(Number::Int(whole)),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            let infinite = if object.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY };
            Ok(Number::Vast(object.extract().unwrap_or(infinite)))
        }
        Err(error) => Err(error),
    }
}

/// A single value.
pub fn var(object: &Bound<'_, PyAny>) -> PyResult<Var> {
    Arg::expect(object)?.into_var(object.py(), None)
}

/// Values that meet in one op: numbers among them take the element type of the others.
pub fn vars<const N: usize>(py: Python<'_>, objects: [&Bound<'_, PyAny>; N]) -> PyResult<[Var; N]> {
    meeting(py, objects, Meets::Computes)
}

/// [`vars`] of ops that compare: numbers among them may be any.
pub fn compared<const N: usize>(
    py: Python<'_>,
    objects: [&Bound<'_, PyAny>; N],
) -> PyResult<[Var; N]> {
    meeting(py, objects, Meets::Compares)
}

fn meeting<const N: usize>(
    py: Python<'_>,
    objects: [&Bound<'_, PyAny>; N],
    meets: Meets,
) -> PyResult<[Var; N]> {
    let args = objects.into_iter().map(Arg::expect).collect::<PyResult<_>>()?;
    let found = resolve(py, args, meets)?;
    found.try_into().map_err(|_| PyTypeError::new_err("the number of values changed"))
}

/// A sequence of values that meet in one op.
pub fn many(objects: &Bound<'_, PyAny>) -> PyResult<Vec<Var>> {
    let args = sequence::read(objects, sequence::MANY, |_, object| Arg::expect(&object))?;
    resolve(objects.py(), args, Meets::Computes)
}

fn resolve(py: Python<'_>, args: Vec<Arg>, meets: Meets) -> PyResult<Vec<Var>> {
    let dtypes = args.iter().filter_map(|arg| match arg {
        Arg::Value(var) => Some(var.dtype()),
        Arg::Number(_) | Arg::Weak(..) | Arg::Size(_) => None,
    });
    let like = dtypes.reduce(DType::promote);
    let args = args.into_iter();
    match like {
        Some(like) => args.map(|arg| arg.met(py, like, meets)).collect(),
        None => args.map(|arg| arg.into_var(py, None)).collect(),
    }
}

/// Whether an object is a tensor that is more than its elements: it has a gradient to pass on, or is a
/// value of the program being built.
pub fn is_more_than_numbers(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<Tensor>().is_ok_and(|tensor| {
        let var = tensor.get().var(object.py());
        var.is_symbolic() || var.is_tracked()
    })
}

/// A number that an op takes as an option. A tensor is one if nothing is lost by that: neither its
/// gradient nor the value that only the run of a program knows.
#[derive(Clone, Copy)]
pub struct FloatArg(pub f64);

impl<'py> FromPyObject<'_, 'py> for FloatArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<FloatArg> {
        if is_more_than_numbers(&value) {
            return Err(PyTypeError::new_err("a number that is known now stands here"));
        }
        Ok(FloatArg(value.extract()?))
    }
}

/// A number for the elements of a tensor, exactly as it was given.
#[derive(Clone, Copy)]
pub struct NumberArg(pub core::Number);

impl From<f64> for NumberArg {
    fn from(number: f64) -> NumberArg {
        NumberArg(number.into())
    }
}

impl<'py> FromPyObject<'_, 'py> for NumberArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<NumberArg> {
        if let Ok(complex) = value.cast::<PyComplex>() {
            return Ok(NumberArg(Complex::new(complex.real(), complex.imag()).into()));
        }
        let FloatArg(rounded) = value.extract()?;
        // Also integers of NumPy and tensors without axes.
        match value.is_instance_of::<PyFloat>() {
            true => Ok(NumberArg(rounded.into())),
            false => Ok(NumberArg(value.extract::<i128>().map_or(rounded.into(), Into::into))),
        }
    }
}

/// The axes of a reduction.
pub struct Axes {
    named: Vec<i64>,
    /// Whether `None` was given, which is all of them.
    all: bool,
}

/// The axes of a reduction: all for `None`, one, several, or none.
pub fn axes(axis: Option<&Bound<'_, PyAny>>) -> PyResult<Axes> {
    let Some(axis) = axis else { return Ok(Axes { named: Vec::new(), all: true }) };
    let named = match axis.extract::<i64>() {
        Ok(one) => vec![one],
        Err(beyond) if axis.is_instance_of::<PyInt>() => return Err(beyond),
        Err(_) => axis.extract::<List<i64, FEW>>()?.0,
    };
    Ok(Axes { named, all: false })
}

impl Axes {
    /// Calls a reduction, for which no axes are all. What is reduced over no axis has one more, of size one.
    pub fn of<R>(
        &self,
        x: &Var,
        keepdims: bool,
        reduction: impl FnOnce(&Var, &[i64], bool) -> Result<R>,
    ) -> Result<R> {
        match self.named.is_empty() && !self.all {
            true => reduction(&ops::unsqueeze(x, -1)?, &[-1], false),
            false => reduction(x, &self.named, keepdims),
        }
    }
}

/// One of the words of a choice.
pub fn choice<T: FromStr<Err = Error>>(py: Python<'_>, word: &str) -> PyResult<T> {
    word.parse().map_err(|error| errors::raise(py, error))
}
