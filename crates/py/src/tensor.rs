//! `fluvial.Tensor`.

use fluvial::core::{Element, Error, GradOptions, Result, Value, Var, structural};
use fluvial::ops::{binary, unary};
use fluvial::tensor::{DType, dispatch};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyIterator, PyList, PyTuple};

use crate::operators::{Side, compare, elementwise, negative, product};
use crate::types::{DType as PyDType, dtype_object, shape};
use crate::{args, array, call, errors, index};

/// A tensor: a concrete one, or a value of the program being built. It never changes.
///
/// Made by `fl.tensor`, by operators and by functions. Python numbers beside a tensor take its
/// element type.
///
/// Example:
///     >>> x = fl.tensor([1.0, 2.0]).track()
///     >>> (x * x + 1).dtype
///     fluvial.float32
#[pyclass(frozen, module = "fluvial", weakref)]
pub struct Tensor(pub Var);

#[pymethods]
impl Tensor {
    /// The sizes: ints, and texts such as "batch" for sizes that a program leaves open.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shape(py, self.0.ty().dims())
    }

    /// The element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        dtype_object(self.0.dtype())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<usize> {
        let ty = self.0.ty();
        let unknown =
            || Error::symbolic(format!("the number of elements of {ty} is not known yet"));
        ty.numel().ok_or_else(|| errors::raise(py, unknown()))
    }

    /// The type as text: "f32[batch, 2]".
    #[getter]
    fn type_text(&self) -> String {
        self.0.ty().to_string()
    }

    /// Whether this is a value of a program being built, which has no elements yet.
    #[getter]
    fn is_symbolic(&self) -> bool {
        self.0.is_symbolic()
    }

    /// Whether ops on it are recorded for gradients.
    #[getter]
    fn is_tracked(&self) -> bool {
        self.0.is_tracked()
    }

    /// A read-only NumPy array over the same memory.
    ///
    /// Example:
    ///     >>> fl.tensor([1.0, 2.0]).numpy()
    ///     array([1., 2.], dtype=float32)
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        array::to_numpy(slf)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = array::to_numpy(slf)?;
        match (dtype, copy) {
            (Some(dtype), _) => view.call_method1("astype", (dtype,)),
            (None, Some(true)) => view.call_method0("copy"),
            (None, _) => Ok(view),
        }
    }

    /// Makes NumPy leave operators between an array and a tensor to the tensor.
    #[classattr]
    fn __array_ufunc__() -> Option<bool> {
        None
    }

    /// The only element, as a Python number.
    ///
    /// Example:
    ///     >>> fl.tensor(2.5).item()
    ///     2.5
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = concrete(py, self.0.tensor())?;
        let dtype = tensor.dtype();
        dispatch!(dtype, T => {
            let element = concrete(py, tensor.item::<T>())?;
            element_object(py, element)
        })
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = concrete(py, self.0.tensor())?;
        dispatch!(tensor.dtype(), T => {
            let elements = concrete(py, tensor.to_vec::<T>())?;
            nested(py, &mut elements.into_iter(), tensor.dims())
        })
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0("__int__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.dtype().is_int() {
            true => self.item(py),
            false => Err(PyTypeError::new_err("only integer tensors of one element are an index")),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.0.is_symbolic() {
            let ty = self.0.ty();
            let error = Error::symbolic(format!(
                "{ty} is a value of the program being built: whether it holds is not known yet"
            ));
            let remedy = "use `fl.cond`, `fl.while_loop` or `fl.where` instead of `if` or `while`";
            return Err(errors::raise(py, error.remedy(remedy)));
        }
        let tensor = concrete(py, self.0.tensor())?;
        if tensor.numel() != 1 {
            return Err(PyValueError::new_err(format!(
                "{} has more or less than one element and no truth value",
                tensor.ty()
            )));
        }
        Ok(dispatch!(tensor.dtype(), T => concrete(py, tensor.item::<T>())?.to_f64() != 0.0))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let Ok(Value::List(list)) = self.0.value() {
            return Ok(list.len());
        }
        let ty = self.0.ty();
        if ty.rank() == 0 {
            return Err(PyTypeError::new_err("a tensor without axes has no length"));
        }
        let unknown = || {
            Error::symbolic(format!("the length of {ty} is not known yet"))
                .remedy("use `fl.scan` to go through a tensor of any length")
        };
        ty.dim(0).value().ok_or_else(|| errors::raise(py, unknown()))
    }

    fn __repr__(&self) -> String {
        format!("Tensor({:?})", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        slf.as_ptr() as usize >> 4
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        index::get(&self.0, key).map(Tensor)
    }

    fn __setitem__(&self, _key: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a tensor never changes\n  remedy: `x = x.setitem(key, value)` makes a new one",
        ))
    }

    /// A new tensor: this one with a value, broadcast and cast, in the place of `x[key]`.
    ///
    /// Args:
    ///     key: An index, as between the brackets of `x[key]`.
    ///     value: A tensor, a number, an array or a list.
    ///
    /// Example:
    ///     >>> x = fl.tensor([1.0, 2.0, 3.0])
    ///     >>> x.setitem(slice(1, None), 0.0).tolist()
    ///     [1.0, 0.0, 0.0]
    fn setitem(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        index::set(&self.0, key, value).map(Tensor)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let rows = (0..self.__len__(py)?).map(|i| index::row(py, &self.0, i).map(Tensor));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.try_iter()
    }

    /// The value as a leaf, in whose `grad` gradients accumulate.
    ///
    /// Example:
    ///     >>> x = fl.tensor(3.0).track()
    ///     >>> (x * x).backward()
    ///     >>> x.grad.item()
    ///     6.0
    fn track(&self, py: Python<'_>) -> PyResult<Tensor> {
        call::run(py, &[], || self.0.track()).map(Tensor)
    }

    /// Accumulates the gradient of this value in every leaf it depends on.
    ///
    /// Args:
    ///     seed: The cotangent to start from; one, if the value is a scalar.
    ///     retain_graph: Keep what was recorded, for another call.
    ///     create_graph: Record the gradients, so that they can be differentiated.
    #[pyo3(signature = (seed=None, *, retain_graph=false, create_graph=false))]
    fn backward(
        &self,
        py: Python<'_>,
        seed: Option<&Bound<'_, PyAny>>,
        retain_graph: bool,
        create_graph: bool,
    ) -> PyResult<()> {
        let like = Some(self.0.dtype());
        let seed = seed.map(|seed| args::Arg::expect(seed)?.into_var(like)).transpose()?;
        let options = GradOptions { retain_graph, create_graph };
        call::run_long(py, || self.0.backward_with(seed.as_ref(), options))
    }

    /// The gradient that `backward` has accumulated in this leaf, or None.
    #[getter]
    fn grad(&self) -> Option<Tensor> {
        self.0.grad().map(Tensor)
    }

    /// Forgets the gradient accumulated in this leaf.
    fn zero_grad(&self) {
        self.0.zero_grad();
    }

    /// The value without its history: gradients stop here.
    fn detach(&self, py: Python<'_>) -> PyResult<Tensor> {
        call::run(py, &[], || self.0.detach().check()).map(Tensor)
    }

    /// The value under a name, which the listing of the program shows.
    ///
    /// Args:
    ///     name: The name.
    fn named(&self, name: &str) -> Tensor {
        Tensor(self.0.clone().named(name))
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::ADD, Side::Left)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::ADD, Side::Right)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::SUB, Side::Left)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::SUB, Side::Right)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::MUL, Side::Left)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::MUL, Side::Right)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::DIV, Side::Left)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &structural::DIV, Side::Right)
    }

    fn __pow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        elementwise(self, other, &binary::POW, Side::Left)
    }

    fn __rpow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        elementwise(self, other, &binary::POW, Side::Right)
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product(self, other, Side::Left)
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        product(self, other, Side::Right)
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &binary::LOGICAL_AND, Side::Left)
    }

    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        elementwise(self, other, &binary::LOGICAL_AND, Side::Right)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Tensor> {
        call::run(py, &[&self.0], || unary::logical_not(&self.0)).map(Tensor)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        negative(py, self)
    }

    fn __pos__(slf: &Bound<'_, Self>) -> Py<Self> {
        slf.clone().unbind()
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Tensor> {
        call::run(py, &[&self.0], || unary::abs(&self.0)).map(Tensor)
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        compare(self, other, operator)
    }
}

fn no_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    match modulo.is_none() {
        true => Ok(()),
        false => Err(PyTypeError::new_err("a power of a tensor has no modulus")),
    }
}

/// What only a concrete tensor has.
fn concrete<R>(py: Python<'_>, result: Result<R>) -> PyResult<R> {
    result.map_err(|error| errors::raise(py, error))
}

fn element_object<'py, T: Element>(py: Python<'py>, element: T) -> PyResult<Bound<'py, PyAny>> {
    Ok(match T::DTYPE {
        DType::Bool => PyBool::new(py, element.to_i64() != 0).to_owned().into_any(),
        dtype if dtype.is_float() => element.to_f64().into_pyobject(py)?.into_any(),
        _ => element.to_i64().into_pyobject(py)?.into_any(),
    })
}

fn nested<'py, T: Element>(
    py: Python<'py>,
    elements: &mut impl Iterator<Item = T>,
    dims: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    match dims {
        [] => element_object(py, elements.next().unwrap_or_default()),
        [first, rest @ ..] => {
            let parts = (0..*first).map(|_| nested(py, elements, rest));
            Ok(PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tensor>()
}
