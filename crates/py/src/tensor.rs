//! `fluvial.Tensor`.

mod held;
mod leaf;
mod outer;
mod part;

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use fluvial::core::{Error, GradOptions, structural};
use fluvial::ops::{self, binary, unary};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use held::Held;
pub use held::Stands;
pub use part::Step;

use crate::hooks::{self, Hook};
use crate::operators::{Side, compare, elementwise, negative, no_modulo, product};
use crate::types::{DType as PyDType, DTypeArg, dtype_object, shape};
use crate::{args, array, call, dlpack, errors, failing, gradient, index, number, protocol, show};

/// What an operator gives: a tensor, or that it does not know the other operand.
type Made<'py> = PyResult<Bound<'py, PyAny>>;

/// A tensor: a concrete one, or a value of the program being built.
///
/// Made by `fl.tensor`, by operators and by functions. Python numbers beside a tensor take its
/// element type. No op changes the elements of a tensor; `x[key] = value` gives the object `x` a
/// new value, which nobody sees who holds another tensor, a part or an array made from it. Only
/// a part that is changed itself reaches `x`: `x[0].zero_()`.
///
/// Example:
///     >>> x = fl.tensor([1.0, 2.0]).track()
///     >>> (x * x + 1).dtype
///     fluvial.float32
#[pyclass(frozen, subclass, module = "fluvial", weakref)]
pub struct Tensor {
    held: UnsafeCell<Held>,
    /// Tensors made later have larger numbers.
    born: u64,
    /// What it is a part of, how often it has got another value, and how often that had when it was last looked at.
    part: UnsafeCell<Option<Arc<part::Part>>>,
    version: Cell<u32>,
    seen: Cell<u32>,
}

// SAFETY: the cells are only touched by methods of `held` and `part`, by a thread that is attached to the
// interpreter and runs no other code meanwhile. Modules of the stable ABI hold the global lock.
unsafe impl Sync for Tensor {}

#[pymethods]
impl Tensor {
    /// The sizes: ints, and `fl.Dim` for sizes that a program leaves open.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shape(py, self.var(py).ty().dims())
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyDType {
        dtype_object(self.var(py).dtype())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> usize {
        self.var(py).rank()
    }

    /// The number of elements.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::sizes::count(py, self.var(py).ty().dims())
    }

    /// The number of bytes of the elements.
    #[getter]
    fn nbytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.size(py)?.mul(self.var(py).dtype().size())
    }

    /// Where the elements are: "cpu".
    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// The type as text: "f32[batch, 2]".
    #[getter]
    fn type_text(&self, py: Python<'_>) -> String {
        self.var(py).ty().to_string()
    }

    /// Whether this is a value of a program being built, which has no elements yet.
    #[getter]
    fn is_symbolic(&self, py: Python<'_>) -> bool {
        self.var(py).is_symbolic()
    }

    /// Whether it stands for a Python number that only the run of a program knows.
    #[getter]
    fn _is_number(&self, py: Python<'_>) -> bool {
        self.is_number(py)
    }

    /// Whether that number is an int or a float, as the run chooses.
    #[getter]
    fn _is_either(&self, py: Python<'_>) -> bool {
        self.stands(py) == Stands::Either
    }

    /// Whether ops on it are recorded for gradients.
    #[getter]
    fn is_tracked(&self, py: Python<'_>) -> bool {
        self.var(py).is_tracked()
    }

    /// Whether `backward` accumulates gradients in it.
    #[getter]
    fn is_leaf(&self, py: Python<'_>) -> bool {
        self.var(py).is_leaf()
    }

    /// Whether a backward pass has freed what it was computed from.
    #[getter]
    fn _is_freed(&self, py: Python<'_>) -> bool {
        self.var(py).is_freed()
    }

    /// The transpose of a matrix.
    #[getter(T)]
    fn transposed(slf: &Bound<'_, Self>) -> PyResult<Tensor> {
        let (py, rank) = (slf.py(), slf.get().var(slf.py()).rank());
        if rank != 2 {
            let error = Error::shape(format!("`.T` is for matrices, not for {rank} axes"));
            let remedy = "use `.mT` for stacks of matrices, or `permute`";
            return Err(errors::raise(py, error.remedy(remedy)));
        }
        Tensor::matrices_transposed(slf)
    }

    /// The transposes of a stack of matrices: the last two axes exchanged.
    #[getter(mT)]
    fn matrices_transposed(slf: &Bound<'_, Self>) -> PyResult<Tensor> {
        part::transposed(slf)
    }

    /// A read-only NumPy array over the same memory.
    ///
    /// Example:
    ///     >>> fl.tensor([1.0, 2.0]).numpy()
    ///     array([1., 2.], dtype=float32)
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array::to_numpy(py, self.var(py))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        protocol::as_array(py, self.var(py), dtype, copy)
    }

    /// Makes NumPy leave operators between an array and a tensor to the tensor.
    #[classattr]
    fn __array_ufunc__() -> Option<bool> {
        None
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            let error = Error::argument("a tensor in main memory has no stream");
            return Err(errors::raise(py, error.remedy("pass stream=None")));
        }
        dlpack::export(py, &self.var(py), max_version, dl_device, copy.unwrap_or(false))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }

    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyModule>> {
        protocol::namespace(py, api_version)
    }

    /// The tensor on a device; there is one, "cpu".
    ///
    /// Args:
    ///     device: "cpu".
    ///     stream: None.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device<'py>(
        slf: &Bound<'py, Self>,
        device: &str,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        match (device, stream) {
            ("cpu", None) => Ok(slf.clone()),
            _ => {
                let error = Error::argument(format!("there is no device \"{device}\""));
                Err(errors::raise(slf.py(), error.remedy("use \"cpu\", without a stream")))
            }
        }
    }

    /// The only element, as a Python number.
    ///
    /// Example:
    ///     >>> fl.tensor(2.5).item()
    ///     2.5
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        protocol::only_element(py, &self.var(py))
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        protocol::nested_lists(py, &self.var(py))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0("__int__")
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.call_method1("complex", (self.item(py)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.var(py).dtype().is_int() {
            true => self.item(py),
            false => Err(PyTypeError::new_err("only integer tensors of one element are an index")),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        protocol::truth(py, &self.var(py))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        protocol::length(py, &self.var(py))
    }

    fn __contains__<'py>(slf: &Bound<'py, Self>, element: &Bound<'py, PyAny>) -> PyResult<bool> {
        let equal = compare(slf, element, CompareOp::Eq)?;
        let Ok(equal) = equal.cast::<Tensor>() else { return Ok(false) };
        let py = element.py();
        let equal = equal.get().var(py);
        let any = call::run(py, &[&equal], || ops::any(&equal, &[], false))?;
        Tensor::new(any).__bool__(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let var = self.var(py);
        failing::placeholder(&var, "!r").unwrap_or_else(|| format!("Tensor({var:?})"))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        match failing::placeholder(&self.var(py), "!s") {
            Some(placeholder) => Ok(placeholder),
            None => protocol::formatted(py, self, ""),
        }
    }

    fn __format__(slf: &Bound<'_, Self>, spec: &str) -> PyResult<String> {
        protocol::formatted(slf.py(), slf.get(), spec)
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        show::html(&self.var(py))
    }

    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        slf.as_ptr() as usize >> 4
    }

    fn __copy__(&self, py: Python<'_>) -> Tensor {
        Tensor::standing(self.stands(py), self.var(py))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyDict>) -> PyResult<Tensor> {
        protocol::deep_copy(py, &self.var(py)).map(Tensor::new)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        protocol::reduced(py, &self.var(py))
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        part::item(slf, key)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        self.renew(py)?;
        let var = self.var(py);
        let is_leaf = leaf::checked(py, self, &var)?;
        let changed = index::set(&var, key, value)?;
        match is_leaf && self.is_value(py) {
            true => leaf::put_off_tape(py, self, &changed),
            false => self.put(py, changed),
        }
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
        index::set(&self.var(key.py()), key, value).map(Tensor::new)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        part::rows(slf)
    }

    /// Brings a part of another tensor up to date with it, before the part is changed.
    fn _renew(&self, py: Python<'_>) -> PyResult<()> {
        self.renew(py)
    }

    /// The value as a leaf, in whose `grad` gradients accumulate.
    ///
    /// Example:
    ///     >>> x = fl.tensor(3.0).track()
    ///     >>> (x * x).backward()
    ///     >>> x.grad.item()
    ///     6.0
    fn track(&self, py: Python<'_>) -> PyResult<Tensor> {
        let var = self.var(py);
        call::run(py, &[], || var.track()).map(Tensor::new)
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
        let var = self.var(py);
        let like = Some(var.dtype());
        let seed = seed.map(|seed| args::Arg::expect(seed)?.into_var(py, like)).transpose()?;
        let options = GradOptions { retain_graph, create_graph };
        gradient::backward(py, &var, seed.as_ref(), options)
    }

    /// The gradient that `backward` has accumulated in this leaf, or None. Of a computed value of
    /// a program being built, `y.grad(wrt=[a, b])` are the gradients of its sum.
    ///
    /// Example:
    ///     >>> with fl.building() as b:
    ///     ...     x = b.input("x", "f32[n]")
    ///     ...     y = fl.sum(x * x)
    ///     ...     b.output("slope", *y.grad(wrt=[x]))
    ///     >>> b.program.run(x=fl.tensor([1.0, 2.0]))["slope"].tolist()
    ///     [2.0, 4.0]
    #[getter]
    fn grad<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        gradient::of_value(slf)
    }

    /// Forgets the gradient accumulated in this leaf.
    fn zero_grad(&self, py: Python<'_>) {
        self.var(py).zero_grad();
    }

    /// Calls a function with the gradient of this value whenever it is complete, in both modes. In a
    /// program it is called once, while the gradients are built, with a value of the program.
    ///
    /// Args:
    ///     function: Takes the gradient; what it returns, if not None, takes its place.
    ///
    /// Returns:
    ///     A handle, whose `remove()` takes the hook away.
    ///
    /// Example:
    ///     >>> x = fl.tensor([1.0, 2.0]).track()
    ///     >>> handle = x.register_hook(lambda grad: fl.clip(grad, -1.0, 1.0))
    ///     >>> fl.sum(x * 5).backward()
    ///     >>> x.grad.tolist()
    ///     [1.0, 1.0]
    fn register_hook(&self, function: &Bound<'_, PyAny>) -> PyResult<Hook> {
        hooks::register_on(&self.var(function.py()), function)
    }

    /// The value without its history: gradients stop here.
    fn detach(slf: &Bound<'_, Self>) -> PyResult<Tensor> {
        part::detached(slf)
    }

    /// The value under a name, which the listing of the program shows.
    ///
    /// Args:
    ///     name: The name.
    fn named(&self, py: Python<'_>, name: &str) -> Tensor {
        Tensor::new(self.var(py).named(name))
    }

    /// The tensor with another element type.
    ///
    /// Args:
    ///     dtype: The element type.
    ///
    /// Example:
    ///     >>> fl.tensor([1.5, -1.5]).astype("int32").tolist()
    ///     [1, -1]
    fn astype(&self, py: Python<'_>, dtype: DTypeArg) -> PyResult<Tensor> {
        let var = self.var(py);
        call::run(py, &[&var], || structural::cast(&var, dtype.0)).map(Tensor::new)
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::ADD, Side::Left)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::ADD, Side::Right)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::SUB, Side::Left)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::SUB, Side::Right)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::MUL, Side::Left)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::MUL, Side::Right)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::DIV, Side::Left)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &structural::DIV, Side::Right)
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::FLOOR_DIV, Side::Left)
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::FLOOR_DIV, Side::Right)
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::REMAINDER, Side::Left)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::REMAINDER, Side::Right)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        elementwise(slf, other, &binary::POW, Side::Left)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_modulo(modulo)?;
        elementwise(slf, other, &binary::POW, Side::Right)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        product(slf, other, Side::Left)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        product(slf, other, Side::Right)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_AND, Side::Left)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_AND, Side::Right)
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_OR, Side::Left)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_OR, Side::Right)
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_XOR, Side::Left)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::BITWISE_XOR, Side::Right)
    }

    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::LEFT_SHIFT, Side::Left)
    }

    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::LEFT_SHIFT, Side::Right)
    }

    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::RIGHT_SHIFT, Side::Left)
    }

    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Made<'py> {
        elementwise(slf, other, &binary::RIGHT_SHIFT, Side::Right)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Tensor> {
        number::unary(py, self, unary::bitwise_not)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        negative(py, self)
    }

    fn __pos__(slf: &Bound<'_, Self>) -> PyResult<Py<Self>> {
        match slf.get().is_number(slf.py()) {
            true => Py::new(slf.py(), number::unary(slf.py(), slf.get(), |x| Ok(x.clone()))?),
            false => Ok(slf.clone().unbind()),
        }
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Tensor> {
        number::unary(py, self, unary::abs)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        compare(slf, other, operator)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tensor>()?;
    leaf::register(module)?;
    part::register(module)?;
    outer::register(module)
}
