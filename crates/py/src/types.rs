//! Element types, sizes and types, as Python names them.

use fluvial::core::{DType as CoreDType, Dim, Error, PerAxis, Type, Var, Whole};
use fluvial::ops;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};

use crate::sequence::{self, FEW, List};
use crate::sizes::{PyDim, whole, whole_object};
use crate::tensor::Tensor;
use crate::{call, errors};

/// An element type: `fl.float32`, `fl.int64`, …
///
/// Functions that take one also take its name ("float32" or "f32"), a NumPy dtype, or `float`
/// (`float32`), `int` (`int64`) and `bool`.
///
/// Example:
///     >>> fl.tensor([1, 2]).dtype == fl.int64
///     True
#[pyclass(frozen, module = "fluvial", name = "DType")]
pub struct DType(CoreDType);

#[pymethods]
impl DType {
    /// The name: "float32".
    #[getter]
    fn name(&self) -> &'static str {
        long_name(self.0)
    }

    /// The number of bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// Whether its elements are whole numbers; bools are not.
    #[getter]
    fn is_integer(&self) -> bool {
        self.0.is_int()
    }

    /// Whether its elements are real numbers with a fraction.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    /// Whether its elements are complex numbers.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// Whether it has negative numbers.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    fn __repr__(&self) -> String {
        format!("fluvial.{}", long_name(self.0))
    }

    fn __str__(&self) -> &'static str {
        long_name(self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<DType>() {
            Ok(other) => other.get().0 == self.0,
            Err(_) => other.extract::<&str>().is_ok_and(|name| name == long_name(self.0)),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, long_name(self.0)).hash()
    }
}

/// The name in Python.
pub fn long_name(dtype: CoreDType) -> &'static str {
    dtype.long_name()
}

/// The Python object of an element type.
pub fn dtype_object(dtype: CoreDType) -> DType {
    DType(dtype)
}

/// An element type as an argument.
#[derive(Clone, Copy)]
pub struct DTypeArg(pub CoreDType);

impl<'py> FromPyObject<'_, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<DTypeArg> {
        if let Ok(dtype) = value.cast::<DType>() {
            return Ok(DTypeArg(dtype.get().0));
        }
        if let Ok(name) = value.extract::<&str>() {
            return named(value.py(), name);
        }
        let py = value.py();
        if let Ok(class) = value.cast::<PyType>() {
            let builtin = [
                (py.get_type::<PyFloat>(), CoreDType::F32),
                (py.get_type::<PyInt>(), CoreDType::I64),
                (py.get_type::<PyComplex>(), CoreDType::C64),
                (py.get_type::<PyBool>(), CoreDType::Bool),
            ];
            if let Some((_, dtype)) = builtin.into_iter().find(|(known, _)| known.is(&*class)) {
                return Ok(DTypeArg(dtype));
            }
            // The scalar types of NumPy, such as `np.float32`.
            let name: String = class.name()?.extract()?;
            return named(py, if name == "bool_" { "bool" } else { &name });
        }
        match value.getattr("name").and_then(|name| name.extract::<String>()) {
            Ok(name) => named(py, &name),
            Err(_) => Err(no_dtype(py, &format!("{} is not an element type", value.repr()?))),
        }
    }
}

fn named(py: Python<'_>, name: &str) -> PyResult<DTypeArg> {
    find(name)
        .map(DTypeArg)
        .ok_or_else(|| no_dtype(py, &format!("there is no element type \"{name}\"")))
}

fn find(name: &str) -> Option<CoreDType> {
    let is_it = |dtype: &CoreDType| long_name(*dtype) == name || dtype.name() == name;
    CoreDType::ALL.into_iter().find(is_it)
}

fn no_dtype(py: Python<'_>, what: &str) -> PyErr {
    let known = CoreDType::ALL.map(long_name).join(", ");
    errors::raise(py, Error::dtype(what).remedy(format!("use one of {known}")))
}

/// A size as an argument: an int, the name of a symbol, an expression of symbols, or an integer of the
/// program being built.
#[derive(Clone, Copy)]
pub struct DimArg(pub Dim);

impl<'py> FromPyObject<'_, 'py> for DimArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<DimArg> {
        if let Ok(dim) = value.cast::<PyDim>() {
            return Ok(DimArg(dim.get().0));
        }
        if let Ok(text) = value.extract::<&str>() {
            let dim = Dim::parse(text).map_err(|error| errors::raise(value.py(), error))?;
            return Ok(DimArg(dim));
        }
        if let Some(count) = run_number(&value) {
            let sized = call::run(value.py(), &[&count], || ops::of_size(&count))?;
            return Ok(DimArg(sized.dims()[0]));
        }
        let size = match value.extract::<i64>() {
            Ok(size) => size,
            Err(beyond) if value.is_instance_of::<PyInt>() => return Err(beyond),
            Err(_) => {
                return Err(PyTypeError::new_err(format!(
                    "a size is an int or the name of a symbol, not {}",
                    value.repr()?
                )));
            }
        };
        match usize::try_from(size) {
            Ok(size) => Ok(DimArg(Dim::size(size))),
            Err(_) => Err(PyValueError::new_err(format!("a size cannot be negative: {size}"))),
        }
    }
}

/// The value of an integer of the program being built.
pub fn run_number(value: &Bound<'_, PyAny>) -> Option<Var> {
    let var = value.cast::<Tensor>().ok()?.get().var(value.py());
    (var.is_symbolic() && var.rank() == 0 && var.dtype().is_int()).then_some(var)
}

/// A whole number that may depend on sizes, as an argument.
#[derive(Clone, Copy)]
pub struct WholeArg(pub Whole);

impl<'py> FromPyObject<'_, 'py> for WholeArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<WholeArg> {
        match whole(&value)? {
            Some(number) => Ok(WholeArg(number)),
            None => Ok(WholeArg(Whole::Number(value.extract()?))),
        }
    }
}

/// Whole numbers that may depend on sizes, as an argument.
pub struct WholesArg(pub Vec<Whole>);

impl<'py> FromPyObject<'_, 'py> for WholesArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<WholesArg> {
        let number = |_, number: Bound<'py, PyAny>| Ok(number.extract::<WholeArg>()?.0);
        sequence::read(&value, FEW, number).map(WholesArg)
    }
}

/// The sizes of a shape as an argument: one size, or a sequence of them. -1 is the size that
/// follows from the others, for functions that know it.
pub struct ShapeArg(pub Vec<Dim>);

impl<'py> FromPyObject<'_, 'py> for ShapeArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<ShapeArg> {
        let dim = |value: &Bound<'py, PyAny>| match value.is_instance_of::<PyInt>() {
            true if matches!(value.extract::<i64>(), Ok(-1)) => Ok(Dim::REST),
            _ => Ok(value.extract::<DimArg>()?.0),
        };
        let is_size = value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>();
        if is_size || value.is_instance_of::<PyDim>() || run_number(&value).is_some() {
            return Ok(ShapeArg(vec![dim(&value.to_owned())?]));
        }
        sequence::read(&value, FEW, |_, value| dim(&value)).map(ShapeArg)
    }
}

/// A number for all axes, one for each, or None where that means something.
#[derive(Clone, Default)]
pub struct PerAxisArg(pub PerAxis);

impl From<usize> for PerAxisArg {
    fn from(one: usize) -> PerAxisArg {
        PerAxisArg(one.into())
    }
}

impl<'py> FromPyObject<'_, 'py> for PerAxisArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<PerAxisArg> {
        if value.is_none() {
            return Ok(PerAxisArg::default());
        }
        match value.extract::<usize>() {
            Ok(one) => Ok(PerAxisArg(one.into())),
            Err(beyond) if value.is_instance_of::<PyInt>() => Err(beyond),
            Err(_) => Ok(PerAxisArg(value.extract::<List<usize, FEW>>()?.0.into())),
        }
    }
}

/// A type as an argument: "f32[batch, 2]", ("float32", ("batch", 2)), an element type for a scalar,
/// or a tensor of that type.
#[derive(Clone, Copy)]
pub struct TypeArg(pub Type);

impl<'py> FromPyObject<'_, 'py> for TypeArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<TypeArg> {
        let py = value.py();
        if let Ok(tensor) = value.cast::<Tensor>() {
            return Ok(TypeArg(tensor.get().var(py).ty()));
        }
        if let Ok(text) = value.extract::<&str>() {
            let ty = find(text).map_or_else(|| Type::parse(text), |dtype| Ok(Type::scalar(dtype)));
            return ty.map(TypeArg).map_err(|error| errors::raise(py, error));
        }
        if !value.is_instance_of::<PyTuple>()
            && let Ok(dtype) = value.extract::<DTypeArg>()
        {
            return Ok(TypeArg(Type::scalar(dtype.0)));
        }
        let Ok((dtype, shape)) = value.extract::<(DTypeArg, ShapeArg)>() else {
            return Err(PyTypeError::new_err(format!(
                "a type is a string such as \"f32[batch, 2]\" or a pair of dtype and shape, not {}",
                value.repr()?
            )));
        };
        type_of(py, dtype, &shape).map(TypeArg)
    }
}

/// The type of an element type and a shape.
pub fn type_of(py: Python<'_>, dtype: DTypeArg, shape: &ShapeArg) -> PyResult<Type> {
    if shape.0.contains(&Dim::REST) {
        return Err(PyValueError::new_err("a size cannot be negative: -1"));
    }
    Type::new(dtype.0, &shape.0).map_err(|error| errors::raise(py, error))
}

/// Sizes as a tuple: ints, and objects for symbolic sizes.
pub fn shape<'py>(py: Python<'py>, dims: &[Dim]) -> PyResult<Bound<'py, PyTuple>> {
    let elements =
        dims.iter().map(|dim| whole_object(py, (*dim).into())).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, elements)
}

/// The element type of an op on values of these two.
///
/// Args:
///     a: An element type.
///     b: An element type.
#[pyfunction]
fn promote_types(a: DTypeArg, b: DTypeArg) -> DType {
    DType(a.0.promote(b.0))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DType>()?;
    for dtype in CoreDType::ALL {
        module.add(long_name(dtype), DType(dtype))?;
    }
    module.add_function(wrap_pyfunction!(promote_types, module)?)
}
