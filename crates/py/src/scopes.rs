//! Context managers that change how ops run in this thread.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use fluvial::core::{self, Guard, Mode, StateGuard};
use fluvial::ops::random::{Drawing, DrawingByRank};
use pyo3::prelude::*;

use crate::errors;

thread_local! {
    /// What leaving the scopes of this thread puts back, innermost last.
    static ENTERED: RefCell<Vec<ManuallyDrop<Entered>>> = const { RefCell::new(Vec::new()) };
}

/// What leaving a scope puts back. It belongs to the thread, not to the Python object, which may
/// be entered several times and seen by several threads. Scopes that a thread never left are not
/// put back when it ends.
pub enum Entered {
    Mode(#[expect(dead_code, reason = "kept for its drop")] Guard),
    State(#[expect(dead_code, reason = "kept for its drop")] StateGuard),
    Drawing(#[expect(dead_code, reason = "kept for its drop")] Drawing),
    ByRank(#[expect(dead_code, reason = "kept for its drop")] DrawingByRank),
    Ranks(fluvial::dist::Entered),
}

/// Notes that the thread has entered a scope.
pub fn enter(entered: Entered) {
    ENTERED.with_borrow_mut(|scopes| scopes.push(ManuallyDrop::new(entered)));
}

/// Leaves the scope entered last.
pub fn leave() {
    let innermost = ENTERED.with_borrow_mut(Vec::pop);
    drop(innermost.map(ManuallyDrop::into_inner));
}

/// A context manager that changes how ops run in this thread.
#[pyclass(frozen, module = "fluvial", name = "Scope")]
struct Scope(Kind);

enum Kind {
    Plain(fn() -> Guard),
    /// In the layer of this name.
    Layer(String),
    /// With random numbers that begin at this seed.
    Drawing(i64),
}

#[pymethods]
impl Scope {
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        enter(match &slf.get().0 {
            Kind::Plain(begin) => Entered::Mode(begin()),
            Kind::Layer(name) => Entered::Mode(core::scope::in_layer(name)),
            Kind::Drawing(seed) => Entered::Drawing(
                Drawing::from_seed(*seed).map_err(|error| errors::raise(slf.py(), error))?,
            ),
        });
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        leave();
    }
}

/// A scope in which the ops of a program are marked with the dotted name of a layer. It changes
/// nothing while ops run at once.
///
/// Args:
///     name: The name, such as "net.hidden".
#[pyfunction]
fn in_layer(name: String) -> Scope {
    Scope(Kind::Layer(name))
}

/// A scope in which random numbers begin at a seed of their own. In a program each run draws the same ones.
///
/// Args:
///     seed: Where they begin.
///
/// Example:
///     >>> with fl._core.drawing_from(7):
///     ...     x = fl.uniform("f32[2]")
///     >>> with fl._core.drawing_from(7):
///     ...     bool(fl.all(x == fl.uniform("f32[2]")))
///     True
#[pyfunction]
fn drawing_from(seed: i64) -> Scope {
    Scope(Kind::Drawing(seed))
}

/// A scope in which nothing is recorded for gradients, and the ops of a program are marked as
/// those of an optimizer.
#[pyfunction]
fn updating() -> Scope {
    Scope(Kind::Plain(core::scope::updating))
}

/// A scope in which nothing is recorded for gradients.
///
/// Example:
///     >>> with fl.no_grad():
///     ...     y = model(x)
#[pyfunction]
fn no_grad() -> Scope {
    Scope(Kind::Plain(core::no_grad))
}

/// A scope in which ops are recorded for gradients, also inside `no_grad`.
#[pyfunction]
fn enable_grad() -> Scope {
    Scope(Kind::Plain(core::enable_grad))
}

/// A scope in which ops run at once, also while a program is built.
///
/// Example:
///     >>> with fl.building() as program:
///     ...     with fl.imperative():
///     ...         table = fl.exp(fl.tensor([0.0, 1.0]))
#[pyfunction]
fn imperative() -> Scope {
    Scope(Kind::Plain(core::imperative))
}

/// Whether ops of this thread are appended to a program, rather than run at once.
#[pyfunction]
fn is_building() -> bool {
    core::mode() == Mode::Building
}

/// Whether ops on tracked tensors are recorded for gradients in this thread.
///
/// Example:
///     >>> with fl.no_grad():
///     ...     fl.is_recording()
///     False
#[pyfunction]
fn is_recording() -> bool {
    core::is_recording()
}

/// Says which build of which function is under way in this thread, and returns what was said before.
#[pyfunction]
fn set_build(build: Option<(u64, u64)>) -> Option<(u64, u64)> {
    core::scope::set_build(build)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_build, module)?)?;
    module.add_function(wrap_pyfunction!(no_grad, module)?)?;
    module.add_function(wrap_pyfunction!(in_layer, module)?)?;
    module.add_function(wrap_pyfunction!(drawing_from, module)?)?;
    module.add_function(wrap_pyfunction!(updating, module)?)?;
    module.add_function(wrap_pyfunction!(enable_grad, module)?)?;
    module.add_function(wrap_pyfunction!(imperative, module)?)?;
    module.add_function(wrap_pyfunction!(is_building, module)?)?;
    module.add_function(wrap_pyfunction!(is_recording, module)?)
}
