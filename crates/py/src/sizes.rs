//! Sizes that a program leaves open, as numbers of Python.
//!
//! While a program is built for the call of a function, each open size has an example (see
//! [`decisions`]): what needs a number of Python, or an answer, is decided by it and noted. Sizes
//! without an example stay values of the program: comparisons give tensors, and nothing is a number.

use fluvial::core::decisions::{self, Decision};
use fluvial::core::{DType, Dim, Error, Result, Whole};
use fluvial::ops;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::tensor::Tensor;
use crate::{call, errors, number};

/// A size that a program leaves open: a symbol such as `batch`, or an expression like `2*batch`.
///
/// It is a whole number: it can be computed with and compared, and stands where a size or a number is
/// expected. In an `fl.function`, what needs its number (`int(n)`, `math.sqrt(n)`, `if n > 3:`) is decided by
/// the call for which the program is built; the program is then used only for sizes for which it comes out the same.
/// Elsewhere, comparisons are values of the program. It is equal to its name, too.
///
/// Example:
///     >>> x = fl.build(lambda x: fl.reshape(x, x.shape[0] * 2), {"x": "f32[n, 2]"})
///     >>> x.outputs
///     {'out0': 'f32[2*n]'}
#[pyclass(frozen, module = "fluvial", name = "Dim")]
pub struct PyDim(pub Dim, Option<Py<PyTuple>>);

type Operation = fn(Whole, Whole) -> Result<Whole>;

#[pymethods]
impl PyDim {
    /// The shape of the tensor whose number of elements it is, or one of its sizes.
    #[pyo3(signature = (dim=None))]
    fn __call__<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let Some(shape) = self.1.as_ref().map(|shape| shape.bind(py)) else {
            return Err(PyTypeError::new_err("a size is not called"));
        };
        match dim {
            Some(dim) => shape.as_any().get_item(dim),
            None => Ok(shape.clone().into_any()),
        }
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.example(py)?.map_or_else(|| self.0.to_string(), |value| value.to_string()))
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.example(py)? {
            Some(value) => int(py, value)?.call_method1("__format__", (spec,)),
            None => self.0.to_string().into_pyobject(py)?.call_method1("__format__", (spec,)),
        }
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        if let Ok(text) = other.extract::<&str>() {
            let same = text == self.0.to_string();
            return match op {
                CompareOp::Eq => truth(py, same),
                CompareOp::Ne => truth(py, !same),
                _ => Ok(py.NotImplemented().into_bound(py)),
            };
        }
        if let Ok(number) = other.cast::<PyFloat>() {
            return self.beside_float(number, op);
        }
        match whole(other)? {
            Some(other) => compared(py, self.whole(), other, op),
            None if is_number(other) => int(py, self.number(py)?)?.rich_compare(other, op),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        int(py, self.number(py)?)?.hash()
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "add", Whole::add)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "add", Whole::add)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "sub", Whole::sub)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.after(other, "sub", Whole::sub)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "mul", Whole::mul)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.after(other, "mul", Whole::mul)
    }

    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "floordiv", Whole::floor_div)
    }

    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.after(other, "floordiv", Whole::floor_div)
    }

    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, "mod", Whole::remainder)
    }

    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.after(other, "mod", Whole::remainder)
    }

    fn __divmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = [self.__floordiv__(other)?, self.__mod__(other)?];
        PyTuple::new(other.py(), parts)
    }

    fn __rdivmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = [self.__rfloordiv__(other)?, self.__rmod__(other)?];
        PyTuple::new(other.py(), parts)
    }

    fn __pow__<'py>(
        &self,
        exponent: &Bound<'py, PyAny>,
        modulus: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = exponent.py();
        let whole = match (whole(exponent)?, modulus) {
            (Some(Whole::Number(times @ 0..=8)), None) => {
                (0..times).try_fold(Whole::Number(1), |power, _| power.mul(self.whole())).ok()
            }
            _ => None,
        };
        match whole {
            Some(power) => whole_object(py, power),
            None if !is_number(exponent) => Ok(py.NotImplemented().into_bound(py)),
            None if modulus.is_none() && exponent.is_instance_of::<PyFloat>() => {
                self.plain(exponent, "pow")
            }
            None => int(py, self.number(py)?)?.pow(exponent, modulus),
        }
    }

    fn __rpow__<'py>(
        &self,
        base: &Bound<'py, PyAny>,
        _modulus: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = base.py();
        match is_number(base) {
            true => number::binary("pow", base, &self.object(py)?),
            false => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match is_number(other) {
            true => self.plain(other, "truediv"),
            false => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match is_number(other) {
            true => number::binary("div", other, &self.object(other.py())?),
            false => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        raised(py, Whole::Number(0).sub(self.whole())).and_then(|less| whole_object(py, less))
    }

    fn __pos__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __abs__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match raised(py, decisions::not_negative(slf.get().whole()))? {
            Some(false) => slf.get().__neg__(py),
            Some(true) => Ok(slf.into_any()),
            None => int(py, slf.get().number(py)?)?.call_method0("__abs__"),
        }
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        self.number(py)
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<i64> {
        self.number(py)
    }

    fn __trunc__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __floor__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __ceil__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (digits=None))]
    fn __round__<'py>(slf: Bound<'py, Self>, digits: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        match digits {
            None | Some(0..) => Ok(slf.into_any()),
            Some(digits) => {
                let number = int(slf.py(), slf.get().number(slf.py())?)?;
                number.call_method1("__round__", (digits,))
            }
        }
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.number(py).map(|number| number as f64)
    }

    /// Whether it is plain to see that it is not a negative number, whatever the sizes are.
    fn never_negative(&self) -> bool {
        self.whole().sides().is_ok_and(|(_, less)| less == Dim::size(0))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match raised(py, decisions::is_zero(self.whole()))? {
            Some(zero) => Ok(!zero),
            None => Err(self.unknown(py)),
        }
    }
}

impl PyDim {
    pub fn new(size: Dim) -> PyDim {
        PyDim(size, None)
    }

    pub fn whole(&self) -> Whole {
        self.0.into()
    }

    /// The number, by the example.
    fn example(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        raised(py, decisions::value(self.whole()))
    }

    /// The number; an error where only a run knows it.
    pub fn number(&self, py: Python<'_>) -> PyResult<i64> {
        self.example(py)?.ok_or_else(|| self.unknown(py))
    }

    fn unknown(&self, py: Python<'_>) -> PyErr {
        let error =
            Error::symbolic(format!("the size `{}` is known only when the program runs", self.0));
        let remedy = "compute with it as a size or a tensor, put `@fl.function` on the function so that \
                      `if` and `for` become part of the program, or build for a known size";
        errors::raise(py, error.remedy(remedy))
    }

    /// `self op other`.
    fn with<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        name: &str,
        f: Operation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        match whole(other)? {
            Some(number) => match applied(py, self.whole(), number, name, f)? {
                Some(made) => whole_object(py, made),
                None => self.plain(other, name),
            },
            None if is_number(other) => self.plain(other, name),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    /// `other op self`.
    fn after<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        name: &str,
        f: Operation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let made = match whole(other)? {
            Some(number) => applied(py, number, self.whole(), name, f)?,
            None if is_number(other) => None,
            None => return Ok(py.NotImplemented().into_bound(py)),
        };
        match made {
            Some(made) => whole_object(py, made),
            None => number::binary(op_of(name), other, &self.object(py)?),
        }
    }

    /// `self op other` of Python's numbers, of which only the run knows one.
    fn plain<'py>(&self, other: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        number::binary(op_of(name), &self.object(other.py())?, other)
    }

    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, PyDim::new(self.0))?.into_any())
    }

    fn beside_float<'py>(
        &self,
        other: &Bound<'py, PyFloat>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, number) = (other.py(), other.extract::<f64>()?);
        let limit = 2f64.powi(53);
        if !(-limit..=limit).contains(&number) {
            let zero = 0f64.into_pyobject(py)?;
            return zero.rich_compare(other, op);
        }
        let (low, high) =
            (Whole::Number(number.floor() as i64), Whole::Number(number.ceil() as i64));
        let between = low != high;
        match op {
            CompareOp::Eq | CompareOp::Ne if between => truth(py, matches!(op, CompareOp::Ne)),
            CompareOp::Lt | CompareOp::Ge => compared(py, self.whole(), high, op),
            _ => compared(py, self.whole(), low, op),
        }
    }
}

/// The name of the op for an operator of Python's.
fn op_of(name: &str) -> &str {
    match name {
        "truediv" => "div",
        "floordiv" => "floor_div",
        "mod" => "remainder",
        same => same,
    }
}

/// The result on whole numbers; nothing where it is not an expression that sizes can have.
fn applied(
    py: Python<'_>,
    a: Whole,
    b: Whole,
    name: &str,
    f: Operation,
) -> PyResult<Option<Whole>> {
    if b == Whole::Number(0) && matches!(name, "floordiv" | "mod") {
        return Err(PyZeroDivisionError::new_err("a size is divided by zero"));
    }
    match f(a, b) {
        Ok(made) => Ok(Some(made)),
        Err(error) if raised(py, decisions::value(a))?.is_none() => Err(errors::raise(py, error)),
        Err(_) => Ok(None),
    }
}

/// A comparison: decided by examples, or a value of the program.
fn compared<'py>(
    py: Python<'py>,
    a: Whole,
    b: Whole,
    op: CompareOp,
) -> PyResult<Bound<'py, PyAny>> {
    let decided = || -> Result<Option<bool>> {
        Ok(match op {
            CompareOp::Eq => decisions::is_zero(a.sub(b)?)?,
            CompareOp::Ne => decisions::is_zero(a.sub(b)?)?.map(|zero| !zero),
            CompareOp::Ge => decisions::not_negative(a.sub(b)?)?,
            CompareOp::Lt => decisions::not_negative(a.sub(b)?)?.map(|found| !found),
            CompareOp::Le => decisions::not_negative(b.sub(a)?)?,
            CompareOp::Gt => decisions::not_negative(b.sub(a)?)?.map(|found| !found),
        })
    };
    if let Some(answer) = raised(py, decided())? {
        return truth(py, answer);
    }
    if fluvial::core::mode() != fluvial::core::Mode::Building {
        let error = Error::symbolic(format!("`{a}` and `{b}` are sizes of a program"));
        return Err(errors::raise(py, error.remedy("compare them while the program is built")));
    }
    let answer = call::run(py, &[], || {
        let (a, b) = (ops::whole_size(a, DType::I64)?, ops::whole_size(b, DType::I64)?);
        match op {
            CompareOp::Eq => ops::eq(&a, &b),
            CompareOp::Ne => ops::ne(&a, &b),
            CompareOp::Lt => ops::lt(&a, &b),
            CompareOp::Le => ops::le(&a, &b),
            CompareOp::Gt => ops::gt(&a, &b),
            CompareOp::Ge => ops::ge(&a, &b),
        }
    })?;
    Ok(Bound::new(py, Tensor::new(answer))?.into_any())
}

/// The whole number that an object is, if it is an int or an open size.
pub fn whole(object: &Bound<'_, PyAny>) -> PyResult<Option<Whole>> {
    if let Ok(dim) = object.cast::<PyDim>() {
        return Ok(Some(dim.get().whole()));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(object.extract::<i64>().ok().map(Whole::Number));
    }
    Ok(None)
}

fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyDim>()
}

/// The number of elements of a tensor with these sizes: a number, which may be called as PyTorch's `x.size(0)` is.
pub fn count<'py>(py: Python<'py>, dims: &[Dim]) -> PyResult<Bound<'py, PyAny>> {
    static SIZE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let one = Whole::Number(1);
    let size = dims.iter().try_fold(one, |size, &dim| size.mul(dim.into()));
    let shape = crate::types::shape(py, dims)?;
    match size.map_err(|error| errors::raise(py, error))? {
        Whole::Number(size) => SIZE.import(py, "fluvial._tree", "Size")?.call1((size, shape)),
        Whole::Open(size) => Ok(Bound::new(py, PyDim(size, Some(shape.unbind())))?.into_any()),
    }
}

/// The Python object of a whole number: an int, or an open size.
pub fn whole_object(py: Python<'_>, whole: Whole) -> PyResult<Bound<'_, PyAny>> {
    match whole {
        Whole::Number(value) => int(py, value),
        Whole::Open(size) => Ok(Bound::new(py, PyDim::new(size))?.into_any()),
    }
}

fn int(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    Ok(value.into_pyobject(py)?.into_any())
}

fn truth(py: Python<'_>, answer: bool) -> PyResult<Bound<'_, PyAny>> {
    Ok(answer.into_pyobject(py)?.to_owned().into_any())
}

fn raised<R>(py: Python<'_>, result: Result<R>) -> PyResult<R> {
    result.map_err(|error| errors::raise(py, error))
}

/// A decision on sizes, which holds for those for which it would come out the same.
#[pyclass(frozen, module = "fluvial._core")]
struct SizeCheck(Decision);

#[pymethods]
impl SizeCheck {
    fn __call__(&self, sizes: &Bound<'_, PyDict>) -> PyResult<bool> {
        let py = sizes.py();
        let mut known = Vec::with_capacity(sizes.len());
        for (name, size) in sizes {
            let symbol = raised(py, Dim::symbol(name.extract::<&str>()?))?;
            known.push((symbol, size.extract::<usize>()?));
        }
        let size = |symbol| known.iter().find(|pair| pair.0 == symbol).map(|pair| pair.1);
        raised(py, self.0.stands(&size))
    }

    /// What the program takes for granted, as a value of the program.
    fn holds(&self, py: Python<'_>) -> PyResult<Tensor> {
        let Decision { of, zero, holds } = self.0;
        let test = call::run(py, &[], || {
            let (a, b) = of.sides()?;
            let (a, b) = (ops::dim_size(a, DType::I64)?, ops::dim_size(b, DType::I64)?);
            match (zero, holds) {
                (true, true) => ops::eq(&a, &b),
                (true, false) => ops::ne(&a, &b),
                (false, true) => ops::ge(&a, &b),
                (false, false) => ops::lt(&a, &b),
            }
        })?;
        Ok(Tensor::new(test))
    }

    fn __repr__(&self) -> String {
        let Decision { of, zero, holds } = self.0;
        let sides = of.sides().map(|(a, b)| (a.to_string(), b.to_string()));
        let (a, b) = sides.unwrap_or_else(|_| (of.to_string(), "0".to_string()));
        let relation = match (zero, holds) {
            (true, true) => "==",
            (true, false) => "!=",
            (false, true) => ">=",
            (false, false) => "<",
        };
        format!("{a} {relation} {b}")
    }
}

/// Begins a build in which open sizes have these examples.
#[pyfunction]
fn begin_examples(py: Python<'_>, sizes: Vec<(String, usize)>) -> PyResult<()> {
    let named = sizes.into_iter().map(|(name, size)| Ok((Dim::symbol(&name)?, size)));
    let named = raised(py, named.collect::<Result<Vec<_>>>())?;
    decisions::begin_examples(named);
    Ok(())
}

/// Ends the build begun last: what was decided, and the names of sizes whose numbers were asked for.
#[pyfunction]
fn end_examples() -> (Vec<SizeCheck>, Vec<String>) {
    let found = decisions::end_examples();
    let fixed = found.fixed.iter().map(|symbol| symbol.to_string()).collect();
    (found.made.into_iter().map(SizeCheck).collect(), fixed)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDim>()?;
    module.add_class::<SizeCheck>()?;
    module.add_function(wrap_pyfunction!(begin_examples, module)?)?;
    module.add_function(wrap_pyfunction!(end_examples, module)?)
}
