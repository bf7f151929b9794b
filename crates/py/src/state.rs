//! Named state: parameters, buffers, counters.

use fluvial::core::{self, DType, Error, Result, Role, State as CoreState, Type, Var, structural};
use fluvial::ops;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::args::{Arg, Number};
use crate::scopes::Entered;
use crate::tensor::Tensor;
use crate::types::{DTypeArg, ShapeArg, dtype_object, shape, type_of};
use crate::{call, errors, scopes};

/// A state scope: what persists between steps and is known by name. Both modes share it.
///
/// It holds what was declared by name, and lists what living layers and optimizers own. There is one
/// for the process; entering another makes it the scope of the thread.
///
/// Example:
///     >>> with fl.State() as state:
///     ...     w = fl.parameter("w", (2,), init=1.0)
///     >>> state["w"].tolist()
///     [1.0, 1.0]
#[pyclass(frozen, module = "fluvial", name = "State")]
pub struct State(pub CoreState);

#[pymethods]
impl State {
    #[new]
    fn new() -> State {
        State(CoreState::new())
    }

    /// The scope that the thread uses now.
    #[staticmethod]
    fn current() -> State {
        State(core::state::current())
    }

    /// All names, in order.
    fn names(&self) -> Vec<String> {
        self.0.names().iter().map(|name| name.to_string()).collect()
    }

    /// Adds a state, or gives one of the same type a new value and this role.
    ///
    /// Args:
    ///     name: The name.
    ///     value: A tensor, a number or an array.
    ///     role: "parameter", "buffer", "optimizer", "counter" or "random". A parameter is trained:
    ///         reading it gives a leaf.
    ///
    /// Example:
    ///     >>> state = fl.State()
    ///     >>> state.insert("w", fl.tensor([1.0, 2.0]), "parameter")
    ///     >>> state["w"].is_leaf, state.role("w")
    ///     (True, 'parameter')
    #[pyo3(signature = (name, value, role="buffer"))]
    fn insert(&self, name: &str, value: &Bound<'_, PyAny>, role: &str) -> PyResult<()> {
        let py = value.py();
        let role = role_named(role)?;
        let like = self.0.declaration(name).map(|known| known.ty.dtype());
        let value = Arg::expect(value)?.into_var(py, like)?;
        let inserted = value.value().and_then(|value| self.0.insert(name, role, value.clone()));
        inserted.map_err(|error| errors::raise(py, error))
    }

    /// What a state is for: "parameter", "buffer", "optimizer", "counter" or "random".
    ///
    /// Args:
    ///     name: The name.
    fn role(&self, py: Python<'_>, name: &str) -> PyResult<&'static str> {
        match self.0.declaration(name) {
            Some(known) => Ok(known.role.name()),
            None => Err(errors::raise(py, Error::state(format!("no state is named `{name}`")))),
        }
    }

    /// Removes a state; says whether there was one.
    ///
    /// Args:
    ///     name: The name.
    fn remove(&self, name: &str) -> bool {
        self.0.remove(name)
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        scopes::enter(Entered::State(slf.get().0.enter()));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        scopes::leave();
    }

    fn __len__(&self) -> usize {
        self.0.names().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Tensor> {
        self.0.read(name).map(Tensor::new).map_err(|error| errors::raise(py, error))
    }

    fn __setitem__(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let like = self.0.declaration(name).map(|known| known.ty.dtype());
        let value = Arg::expect(value)?.into_var(py, like)?;
        let assigned = value.value().and_then(|value| self.0.assign(name, value.clone()));
        assigned.map_err(|error| errors::raise(py, error))
    }

    fn __repr__(&self) -> String {
        format!("State({})", self.names().join(", "))
    }
}

/// A trained parameter: read if it exists, or else added first, in both modes.
///
/// Args:
///     name: The name, which both modes and files share.
///     shape: Its sizes.
///     dtype: The element type.
///     init: A number, an array, a tensor, or a function of shape and dtype that returns a tensor.
///         It is used once; random numbers that it draws depend on the seed and the name only.
///
/// Example:
///     >>> normal = lambda shape, dtype: fl.normal((dtype, shape), 0.0, 0.02)
///     >>> w = fl.parameter("w", (4, 2), init=normal)
#[pyfunction]
#[pyo3(
    signature = (name, shape, dtype=DTypeArg(DType::F32), init=None),
    text_signature = "(name, shape, dtype='float32', init=None)"
)]
fn parameter(
    py: Python<'_>,
    name: &str,
    shape: ShapeArg,
    dtype: DTypeArg,
    init: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tensor> {
    let ty = type_of(py, dtype, &shape)?;
    call::run_attached(py, || ops::parameter(name, ty, || initial(py, ty, init))).map(Tensor::new)
}

/// A state that is not trained: read if it exists, or else added first, in both modes.
///
/// Args:
///     name: The name, which both modes and files share.
///     shape: Its sizes.
///     dtype: The element type.
///     init: As for `parameter`.
///     role: "buffer", "optimizer", "counter", "random" or "parameter".
///
/// Example:
///     >>> step = fl.declare_state("step", (), "int64", init=0, role="counter")
///     >>> fl.assign_state("step", step + 1)
#[pyfunction]
#[pyo3(
    signature = (name, shape, dtype=DTypeArg(DType::F32), init=None, role="buffer"),
    text_signature = "(name, shape, dtype='float32', init=None, role='buffer')"
)]
fn declare_state(
    py: Python<'_>,
    name: &str,
    shape: ShapeArg,
    dtype: DTypeArg,
    init: Option<&Bound<'_, PyAny>>,
    role: &str,
) -> PyResult<Tensor> {
    let ty = type_of(py, dtype, &shape)?;
    let role = role_named(role)?;
    call::run_attached(py, || core::declare_state(name, ty, role, || initial(py, ty, init)))
        .map(Tensor::new)
}

pub fn role_named(name: &str) -> PyResult<Role> {
    Role::parse(name).ok_or_else(|| {
        let known = Role::ALL.map(Role::name).join(", ");
        PyValueError::new_err(format!("no role is named \"{name}\"\n  remedy: use one of {known}"))
    })
}

/// The initial value of a type, from what Python has for an initialiser.
pub fn initial(py: Python<'_>, ty: Type, init: Option<&Bound<'_, PyAny>>) -> Result<Var> {
    let computed = || -> PyResult<Arg> {
        match init {
            Some(init) if init.is_callable() => {
                let returned = init.call1((shape(py, ty.dims())?, dtype_object(ty.dtype())))?;
                Arg::expect(&returned)
            }
            Some(init) => Arg::expect(init),
            None => Ok(Arg::Number(Number::Int(0))),
        }
    };
    match computed().map_err(errors::callback)? {
        Arg::Value(value) => Ok(value),
        Arg::Number(number) => {
            let number = number.to_f64().map_err(|_| {
                Error::dtype("a complex number cannot be the first value of a state")
                    .remedy("give a tensor")
            })?;
            structural::fill(number, &ty)
        }
        other => other.into_var(py, Some(ty.dtype())).map_err(errors::callback),
    }
}

/// The value of a state, in both modes; a leaf if it is a parameter.
///
/// Args:
///     name: The name.
#[pyfunction]
fn read_state(py: Python<'_>, name: &str) -> PyResult<Tensor> {
    call::run(py, &[], || core::read_state(name)).map(Tensor::new)
}

/// Gives a state a new value of the same type, in both modes. No gradient passes through.
///
/// Args:
///     name: The name.
///     value: The value.
#[pyfunction]
fn assign_state(name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let like = core::state::current().declaration(name).map(|known| known.ty.dtype());
    let value = Arg::expect(value)?.into_var(py, like)?;
    call::run(py, &[], || core::assign_state(name, &value))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<State>()?;
    module.add_function(wrap_pyfunction!(parameter, module)?)?;
    module.add_function(wrap_pyfunction!(declare_state, module)?)?;
    module.add_function(wrap_pyfunction!(read_state, module)?)?;
    module.add_function(wrap_pyfunction!(assign_state, module)?)
}
