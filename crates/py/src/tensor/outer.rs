//! Tensors from outside that a function meets while its program is built, and changes of tensors.
//!
//! A function is built by running it on the objects of the user. A tensor that was there before has its own
//! value for everybody else; the thread that builds sees an input of the program in its place. Whoever
//! builds is asked for that input (`adopt`), and told before a tensor gets another value (`touch`).

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use fluvial::core::{Mode, Var, mode};
use pyo3::prelude::*;

use super::Tensor;
use crate::errors;

static BORN: AtomicU64 = AtomicU64::new(1);
/// How far into its Python object a tensor lies.
static OFFSET: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Tensors with smaller numbers are from outside of the function being built; 0 if there is none.
    static OUTER_BELOW: Cell<u64> = const { Cell::new(0) };
    /// Has the methods `adopt` and `touch`.
    static BUILDER: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// The number of the next tensor. Two threads may get the same one, which harms nobody.
#[inline]
pub fn next_number() -> u64 {
    let number = BORN.load(Ordering::Relaxed);
    BORN.store(number + 1, Ordering::Relaxed);
    number
}

/// Whether a tensor of this number and value is an input of the program that this thread builds.
#[inline]
pub fn is_outer(born: u64, var: &Var) -> bool {
    born < OUTER_BELOW.get() && !var.is_symbolic() && mode() == Mode::Building
}

/// Whether a tensor of this number is from outside of the function that this thread builds.
pub fn is_older(born: u64) -> bool {
    born < OUTER_BELOW.get()
}

/// The input that stands for a tensor from outside.
#[cold]
pub fn adopted(py: Python<'_>, tensor: &Tensor) -> Option<Var> {
    let builder = builder(py)?;
    let adopt = || -> PyResult<Var> {
        let input = builder.bind(py).call_method1("adopt", (object(py, tensor),))?;
        let input = input.cast::<Tensor>()?.get();
        Ok(input.own(py).unwrap_or_else(|| input.var(py)))
    };
    Some(adopt().unwrap_or_else(|error| Var::failed(errors::callback(error))))
}

/// Tells whoever builds a program that a tensor gets another value.
#[inline]
pub fn touched(py: Python<'_>, tensor: &Tensor) -> PyResult<()> {
    if OUTER_BELOW.get() == 0 || mode() != Mode::Building {
        return Ok(());
    }
    let Some(builder) = builder(py) else { return Ok(()) };
    builder.bind(py).call_method1("touch", (object(py, tensor),)).map(drop)
}

fn builder(py: Python<'_>) -> Option<Py<PyAny>> {
    BUILDER.with_borrow(|builder| builder.as_ref().map(|builder| builder.clone_ref(py)))
}

/// The Python object that a tensor lies in. Only for tensors that Python has: a tensor on Rust's stack is
/// newer than any build, and is neither adopted nor changed.
fn object<'py>(py: Python<'py>, tensor: &Tensor) -> Bound<'py, PyAny> {
    let address = std::ptr::from_ref(tensor) as usize - OFFSET.load(Ordering::Relaxed);
    // SAFETY: the tensor lies in a Python object, at the offset that all of them have, and the object
    // is alive as long as the tensor is borrowed.
    unsafe { Bound::from_borrowed_ptr(py, address as *mut pyo3::ffi::PyObject) }
}

/// Has this thread's builds ask `builder` for tensors from outside: those that exist now, or of a number
/// below `number`. Returns what was said before.
#[pyfunction]
#[pyo3(signature = (builder, number=None))]
fn set_builder(builder: Option<Py<PyAny>>, number: Option<u64>) -> (Option<Py<PyAny>>, u64) {
    let below = match builder {
        Some(_) => number.unwrap_or_else(next_number),
        None => 0,
    };
    (BUILDER.replace(builder), OUTER_BELOW.replace(below))
}

/// The number of a tensor: those made later have larger ones.
#[pyfunction]
fn tensor_number(tensor: &Tensor) -> u64 {
    tensor.born
}

/// A number between those of the tensors made before and after this call.
#[pyfunction]
fn number_now() -> u64 {
    next_number()
}

/// The value that a tensor holds itself, as a tensor of its own; also of one from outside while a
/// program is built.
#[pyfunction]
fn held(py: Python<'_>, tensor: &Tensor) -> Tensor {
    Tensor::new(tensor.own(py).unwrap_or_else(|| tensor.var(py)))
}

/// Gives a tensor the value that another one holds, and tells nobody who builds.
#[pyfunction]
fn put_held(py: Python<'_>, tensor: &Tensor, value: &Tensor) -> PyResult<()> {
    let value = value.own(py).unwrap_or_else(|| value.var(py));
    if mode() == Mode::Imperative {
        tensor.hand_on(py, &value)?;
    }
    tensor.put_untold(py, value)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let example = Bound::new(module.py(), Tensor::new(Var::scalar(0_f32)))?;
    let offset = std::ptr::from_ref(example.get()) as usize - example.as_ptr() as usize;
    OFFSET.store(offset, Ordering::Relaxed);
    module.add_function(wrap_pyfunction!(set_builder, module)?)?;
    module.add_function(wrap_pyfunction!(tensor_number, module)?)?;
    module.add_function(wrap_pyfunction!(number_now, module)?)?;
    module.add_function(wrap_pyfunction!(held, module)?)?;
    module.add_function(wrap_pyfunction!(put_held, module)?)
}
