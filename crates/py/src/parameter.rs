//! `fluvial.nn.Parameter`: a tensor with identity.

mod made;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fluvial::core::{self, Cell, DType, Error, Mode, Result, Var, structural};
use fluvial::nn::stated::Declared;
use fluvial::nn::{self, ParamAttr};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, PyClassInitializer};

use crate::args::Arg;
use crate::operators::{Side, elementwise};
use crate::tensor::Tensor;
use crate::types::{DType as PyDType, DTypeArg, dtype_object, long_name, shape};
use crate::{args, call, errors};
use made::{Made, attribute};

/// How often any parameter was frozen, trained again, or changed in another way that programs which
/// were built of it do not know.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The value of a parameter as ops take it.
pub fn read(py: Python<'_>, parameter: nn::Parameter) -> Var {
    let _line = core::at(call::line_if_asked(py));
    parameter.get().unwrap_or_else(Var::failed)
}

/// The value of a parameter off the tape.
pub fn read_data(py: Python<'_>, parameter: nn::Parameter) -> Var {
    let _no_grad = core::no_grad();
    let value = read(py, parameter);
    if value.is_symbolic() { value.detach() } else { value }
}

/// A trained tensor with identity: every op and method takes it, a program has it as a state, and
/// whoever holds it shares its value and its gradient.
///
/// It owns its value. Assigned to an attribute of a layer it belongs to the layer, too; assigned to
/// several, they share it. Its name is a label for listings and files.
///
/// Args:
///     data: A tensor or an array to begin with; or the sizes, for an initial value that `init` makes.
///         Nothing if the first call of its layer gives the sizes.
///     dtype: The element type, if sizes are given.
///     init: How the initial value is made, unless `attr` says it: a number, or a function of shape
///         and dtype.
///     attr: What else is said of it.
///     requires_grad: Whether it is trained.
///
/// Example:
///     >>> w = fl.nn.Parameter(fl.tensor([1.0, 2.0]))
///     >>> fl.sum(w * w).backward()
///     >>> w.grad.tolist()
///     [2.0, 4.0]
///     >>> with fl.no_grad():
///     ...     w -= 0.5 * w.grad
///     >>> w.tolist()
///     [0.0, 0.0]
#[pyclass(extends = Tensor, subclass, frozen, module = "fluvial.nn", name = "Parameter")]
pub struct Parameter {
    pub inner: nn::Parameter,
    /// What was said of it, as Python knows it.
    attr: Py<PyAny>,
    init: Option<Py<PyAny>>,
    is_placed: AtomicBool,
}

/// A tensor with identity that is not trained, such as a running mean; see `Parameter`.
///
/// Args:
///     data: A tensor or an array to begin with, or the sizes.
///     dtype: The element type, if sizes are given.
///     init: How the initial value is made: a number, or a function of shape and dtype.
///     attr: What else is said of it.
///     persistent: Whether it is part of `state_dict`; checkpoints have it in any case.
///
/// Example:
///     >>> class Counter(fl.nn.Layer):
///     ...     def __init__(self):
///     ...         super().__init__()
///     ...         self.calls = fl.nn.Buffer((), "int64")
///     ...     def forward(self, x):
///     ...         self.calls = self.calls + 1
///     ...         return x
///     >>> counter = Counter()
///     >>> _ = counter(counter(fl.tensor(1.0)))
///     >>> counter.calls.item()
///     2
#[pyclass(extends = Parameter, subclass, frozen, module = "fluvial.nn", name = "Buffer")]
pub struct Buffer;

impl Parameter {
    fn base(
        py: Python<'_>,
        inner: nn::Parameter,
        said: Option<&Bound<'_, PyAny>>,
        init: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Parameter>> {
        let (attr, own) = attribute(py, said)?;
        inner.set_attr(own);
        let tensor = Tensor::of_parameter(inner.clone());
        let init = init.map(|init| init.clone().unbind());
        let is_placed = AtomicBool::new(false);
        let parameter = Parameter { inner, attr: attr.unbind(), init, is_placed };
        Ok(PyClassInitializer::from(tensor).add_subclass(parameter))
    }

    /// A new parameter or buffer as a layer states it, with what the user says of it.
    pub fn stated<'py>(
        py: Python<'py>,
        part: &Declared,
        dtype: DType,
        said: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (dims, dtype) = (part.dims.as_deref(), part.dtype.unwrap_or(dtype));
        let init = Bound::new(py, crate::initializer::Initializer(part.init.clone()))?.into_any();
        let own = part.init.clone();
        if part.is_buffer {
            let inner = nn::Parameter::new_buffer(&part.name, dtype, dims, own, true);
            let class = Parameter::base(py, inner, said, Some(&init))?.add_subclass(Buffer);
            return Ok(Bound::new(py, class)?.into_any());
        }
        let inner = nn::Parameter::new(&part.name, dtype, dims, own);
        Ok(Bound::new(py, Parameter::base(py, inner, said, Some(&init))?)?.into_any())
    }

    /// The object of a parameter of Rust's.
    pub fn wrap(py: Python<'_>, inner: nn::Parameter) -> PyResult<Bound<'_, Parameter>> {
        let (attr, _) = attribute(py, None)?;
        let tensor = Tensor::of_parameter(inner.clone());
        let is_placed = AtomicBool::new(true);
        let parameter = Parameter { inner, attr: attr.unbind(), init: None, is_placed };
        Bound::new(py, PyClassInitializer::from(tensor).add_subclass(parameter))
    }

    /// Changes it in place by an op, as `p -= rate * p.grad` does.
    fn change<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: &'static core::Elementwise,
    ) -> PyResult<()> {
        let py = slf.py();
        let tensor = slf.as_super().get();
        let before = tensor.var(py);
        let changed = elementwise(slf.as_super(), other, op, Side::Left)?;
        if before.is_leaf() && core::is_recording() {
            let name = slf.get().inner.name();
            let error = Error::gradient(format!(
                "the parameter `{name}` is changed in place while ops are recorded"
            ));
            let remedy = "change it inside `with fl.no_grad():`, or by an optimizer";
            return Err(errors::raise(py, error.remedy(remedy)));
        }
        let Ok(changed) = changed.cast::<Tensor>() else {
            return Err(PyTypeError::new_err(format!(
                "a parameter and {} cannot be combined in place",
                other.get_type()
            )));
        };
        tensor.put(py, changed.get().var(py))
    }
}

#[pymethods]
impl Parameter {
    #[new]
    #[pyo3(
        signature = (data=None, dtype=None, init=None, attr=None, requires_grad=None),
        text_signature = "(data=None, dtype='float32', init=None, attr=None, requires_grad=True)"
    )]
    fn new(
        py: Python<'_>,
        data: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        init: Option<&Bound<'_, PyAny>>,
        attr: Option<&Bound<'_, PyAny>>,
        requires_grad: Option<bool>,
    ) -> PyResult<PyClassInitializer<Parameter>> {
        // `Parameter(tensor, False)`, as PyTorch has it.
        let flag = dtype.and_then(|dtype| dtype.cast::<PyBool>().ok()).map(|flag| flag.is_true());
        let dtype = dtype.filter(|_| flag.is_none()).map(|dtype| dtype.extract()).transpose()?;
        let made = Made::of(data, dtype, init)?;
        let inner = nn::Parameter::new("parameter", made.dtype, made.dims.as_deref(), made.init);
        let class = Parameter::base(py, inner.clone(), attr, init)?;
        if let Some(flag) = requires_grad.or(flag) {
            inner.set_trainable(flag);
        }
        if inner.is_trainable() && !made.dtype.is_inexact() {
            let error = Error::gradient(format!("a parameter of {} has no gradient", made.dtype));
            let remedy = "give floats, or `requires_grad=False`, or make a `Buffer`";
            return Err(errors::raise(py, error.remedy(remedy)));
        }
        Ok(class)
    }

    /// What listings and files call it.
    #[getter]
    fn name(&self) -> String {
        self.inner.name().to_string()
    }

    /// Its place in the model.
    #[getter]
    fn key(&self) -> String {
        self.inner.key().to_string()
    }

    #[setter]
    fn set_key(&self, key: &str) {
        self.is_placed.store(true, Ordering::Relaxed);
        self.inner.set_key(key);
    }

    /// Whether it has a place in a model.
    #[getter]
    fn is_placed(&self) -> bool {
        self.is_placed.load(Ordering::Relaxed)
    }

    /// What was said of it when it was made.
    #[getter]
    fn attr(&self, py: Python<'_>) -> Py<PyAny> {
        self.attr.clone_ref(py)
    }

    /// Makes it the parameter of a name, in the state scope of whoever reads it.
    fn share(&self, name: &str) {
        self.inner.set_attr(ParamAttr { name: Some(name.into()), ..self.inner.attr() });
    }

    /// Whether it is a buffer, which is never trained.
    #[getter]
    fn is_buffer(&self) -> bool {
        self.inner.is_buffer()
    }

    /// Whether it is part of `state_dict`.
    #[getter]
    fn is_persistent(&self) -> bool {
        self.inner.is_persistent()
    }

    /// Whether its sizes are known.
    #[getter]
    fn is_sized(&self) -> bool {
        self.inner.is_sized()
    }

    /// Whether it is trained.
    #[getter]
    fn is_trainable(&self) -> bool {
        self.inner.is_trainable()
    }

    /// Whether it is trained: a frozen parameter is read as a constant, in both modes.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.inner.is_trainable()
    }

    #[setter]
    fn set_requires_grad(&self, py: Python<'_>, flag: bool) -> PyResult<()> {
        if flag && self.inner.is_buffer() {
            let error = Error::gradient(format!("the buffer `{}` is not trained", self.name()));
            return Err(errors::raise(py, error.remedy("make it a `Parameter`")));
        }
        if flag != self.inner.is_trainable() {
            self.inner.set_trainable(flag);
            changed();
        }
        Ok(())
    }

    /// Says whether it is trained, and returns it.
    ///
    /// Args:
    ///     requires_grad: Whether it is.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(
        slf: &Bound<'py, Self>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, Self>> {
        slf.get().set_requires_grad(slf.py(), requires_grad)?;
        Ok(slf.clone())
    }

    /// Gives a lazy parameter its sizes, at the first call; later ones change nothing.
    ///
    /// Args:
    ///     shape: The sizes.
    fn sized(&self, shape: Vec<usize>) {
        self.inner.sized(&shape);
    }

    /// Its value now: a leaf if it is trained, or a value of the program being built.
    fn get(slf: &Bound<'_, Self>) -> PyResult<Tensor> {
        let value = slf.as_super().get().var(slf.py());
        value.check().map(Tensor::new).map_err(|error| errors::raise(slf.py(), error))
    }

    /// Assigns it, in both modes.
    ///
    /// Args:
    ///     value: A value of its type.
    fn set(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let value = Arg::expect(value)?.into_var(py, Some(self.inner.dtype()))?;
        call::run_attached(py, || self.inner.set(&value))
    }

    /// Its value off the tape. What is assigned to it, or to its elements, is assigned to the
    /// parameter.
    #[getter]
    fn data(&self) -> Tensor {
        Tensor::of_data(self.inner.clone())
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get().set(value)
    }

    /// The gradient that `backward` has accumulated for it, or None.
    #[getter]
    fn grad(slf: &Bound<'_, Self>) -> PyResult<Option<Tensor>> {
        let grad = call::run_attached(slf.py(), || slf.get().inner.grad())?;
        Ok(grad.map(|grad| Tensor::of_grad(grad, slf.as_any())))
    }

    #[setter]
    fn set_grad(&self, py: Python<'_>, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let dtype = self.inner.dtype();
        let grad = grad.map(|grad| Arg::expect(grad)?.into_var(py, Some(dtype))).transpose()?;
        let set = || -> Result<()> {
            let ty = self.inner.ty()?;
            if let Some(found) = grad.as_ref().map(Var::ty).filter(|found| *found != ty) {
                return Err(Error::shape(format!("the gradient of {ty} is {found}")));
            }
            match core::mode() {
                Mode::Imperative => self.inner.cell().set_grad(grad),
                Mode::Building => {
                    let _recording = core::enable_grad();
                    self.inner.get()?.set_grad(grad);
                }
            }
            Ok(())
        };
        call::run_attached(py, set)
    }

    /// Forgets its gradient.
    fn zero_grad(&self, py: Python<'_>) -> PyResult<()> {
        call::run_attached(py, || self.inner.zero_grad())
    }

    /// Changes its element type, and its value if it has one.
    ///
    /// Args:
    ///     dtype: The new one.
    fn convert(&self, py: Python<'_>, dtype: DTypeArg) -> PyResult<()> {
        changed();
        call::run(py, &[], || self.inner.convert(dtype.0))
    }

    /// Takes a value over, in its own element type; a lazy one gets its sizes from it.
    ///
    /// Args:
    ///     value: The value.
    fn load(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let value = args::var(value)?;
        call::run(py, &[], || self.inner.load(value.tensor()?))
    }

    /// Whether both are one parameter, or share one value by its name.
    ///
    /// Args:
    ///     other: Another one.
    fn same(&self, other: &Bound<'_, Parameter>) -> bool {
        self.inner.same(&other.get().inner)
    }

    /// A number that no other parameter has that lives.
    #[getter]
    fn identity(&self) -> usize {
        Cell::id(&self.inner.cell())
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shape(py, self.ty(py)?.dims())
    }

    #[getter]
    fn dtype(&self) -> PyDType {
        dtype_object(self.inner.dtype())
    }

    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.ty(py)?.rank())
    }

    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::sizes::count(py, self.ty(py)?.dims())
    }

    #[getter]
    fn type_text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.ty(py)?.to_string())
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Parameter::change(slf, other, &structural::ADD)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Parameter::change(slf, other, &structural::SUB)
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Parameter::change(slf, other, &structural::MUL)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Parameter::change(slf, other, &structural::DIV)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// A parameter of its own with the same value.
    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, own) = (slf.py(), slf.get());
        let inner = call::run_attached(py, || own.inner.copied(&own.inner.key()))?;
        let tensor = Tensor::of_parameter(inner.clone());
        let init = own.init.as_ref().map(|init| init.clone_ref(py));
        let is_buffer = inner.is_buffer();
        let is_placed = AtomicBool::new(own.is_placed());
        let parameter = Parameter { inner, attr: own.attr.clone_ref(py), init, is_placed };
        let class = PyClassInitializer::from(tensor).add_subclass(parameter);
        let copy = match is_buffer {
            true => Bound::new(py, class.add_subclass(Buffer))?.into_any(),
            false => Bound::new(py, class)?.into_any(),
        };
        memo.set_item(slf.as_ptr() as usize, &copy)?;
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (slf.py(), slf.get());
        let restore = py.import("fluvial.nn._parameter")?.getattr("restored")?;
        let dims = match own.inner.is_sized() {
            true => own.shape(py)?.into_any(),
            false => py.None().into_bound(py),
        };
        if own.inner.is_sized() {
            // What was given for its initial value is not in `init`.
            let _scope = (core::imperative(), core::no_grad());
            drop(raised(py, own.inner.get())?);
        }
        let value = match own.inner.cell().get() {
            Some(value) => {
                Bound::new(py, Tensor::new(Var::new(raised(py, value.value())?.clone())))?
                    .into_any()
            }
            None => py.None().into_bound(py),
        };
        let state = (
            own.inner.is_buffer(),
            dims,
            long_name(own.inner.dtype()),
            &own.init,
            &own.attr,
            own.key(),
            own.inner.is_persistent(),
            own.inner.is_trainable(),
            value,
        );
        (restore, state.into_bound_py_any(py)?).into_pyobject(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let own = slf.get();
        let ty = match own.inner.ty() {
            Ok(ty) => ty.to_string(),
            Err(_) => format!("{}[?]", own.inner.dtype()),
        };
        let frozen = match own.inner.is_buffer() || own.inner.is_trainable() {
            true => "",
            false => ", frozen",
        };
        let class = slf.get_type().name()?;
        Ok(format!("{class}({}: {ty}{frozen})", own.inner.name()))
    }
}

impl Parameter {
    fn ty(&self, py: Python<'_>) -> PyResult<core::Type> {
        raised(py, self.inner.ty())
    }
}

fn raised<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| errors::raise(py, error))
}

#[pymethods]
impl Buffer {
    #[new]
    #[pyo3(
        signature = (data=None, dtype=None, init=None, attr=None, persistent=true),
        text_signature = "(data=None, dtype='float32', init=None, attr=None, persistent=True)"
    )]
    fn new(
        py: Python<'_>,
        data: Option<&Bound<'_, PyAny>>,
        dtype: Option<DTypeArg>,
        init: Option<&Bound<'_, PyAny>>,
        attr: Option<&Bound<'_, PyAny>>,
        persistent: bool,
    ) -> PyResult<PyClassInitializer<Buffer>> {
        let made = Made::of(data, dtype, init)?;
        let dims = made.dims.as_deref();
        let inner = nn::Parameter::new_buffer("buffer", made.dtype, dims, made.init, persistent);
        Ok(Parameter::base(py, inner, attr, init)?.add_subclass(Buffer))
    }
}

/// How often any parameter was changed in a way that programs built of it do not know.
#[pyfunction]
fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// Tells that a layer or a parameter was changed so.
#[pyfunction]
pub fn changed() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// Begins a step: no parameter was read in it yet.
#[pyfunction]
fn begin_step() {
    nn::begin_step();
}

/// The parameters that the step has read.
#[pyfunction]
fn used_in_step(py: Python<'_>) -> PyResult<Vec<Bound<'_, Parameter>>> {
    nn::used_in_step().into_iter().map(|inner| Parameter::wrap(py, inner)).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Parameter>()?;
    module.add_class::<Buffer>()?;
    module.add_function(wrap_pyfunction!(changes, module)?)?;
    module.add_function(wrap_pyfunction!(changed, module)?)?;
    module.add_function(wrap_pyfunction!(begin_step, module)?)?;
    module.add_function(wrap_pyfunction!(used_in_step, module)?)
}
