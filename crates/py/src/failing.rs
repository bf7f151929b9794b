//! Exceptions of Python that programs raise, and what of a program may fail, for code that catches.

use std::cell::RefCell;
use std::rc::Rc;

use fluvial::core::{self, ErrorKind, Fault, FaultHook, OpRef, Type, Var};
use fluvial::ops::host::{Assert, HostCall, Raised};
use fluvial::ops::index::RepeatIndex;
use fluvial::ops::lists::ListPop;
use pyo3::prelude::*;

use crate::args;
use crate::call;
use crate::errors;
use crate::tensor::Tensor;

thread_local! {
    /// The tensors of the program being built that a message shows, while one is made.
    static SHOWN: RefCell<Option<Vec<Var>>> = const { RefCell::new(None) };
}

/// What brackets the number of a tensor in a message, and how it is shown: characters for private use.
const MARKS: [char; 2] = ['\u{f0f1e}', '\u{f0f1f}'];

/// What stands in a message for a tensor whose numbers only the run knows: `how` says in the words of
/// `str.format` how it is shown. Nothing if no message is made, or the numbers are known.
pub fn placeholder(var: &Var, how: &str) -> Option<String> {
    if !var.is_symbolic() {
        return None;
    }
    SHOWN.with_borrow_mut(|shown| {
        let shown = shown.as_mut()?;
        shown.push(var.clone());
        Some(format!("{}{}{how}{}", MARKS[0], shown.len() - 1, MARKS[1]))
    })
}

/// Begins a message that a program will show: tensors of the program stand in it as placeholders.
///
/// Returns:
///     The characters before and behind a placeholder.
#[pyfunction]
fn begin_message() -> (char, char) {
    SHOWN.set(Some(Vec::new()));
    (MARKS[0], MARKS[1])
}

/// Ends a message.
///
/// Returns:
///     The tensors that its placeholders number.
#[pyfunction]
fn end_message() -> Vec<Tensor> {
    SHOWN.take().unwrap_or_default().into_iter().map(Tensor::new).collect()
}

/// Has the program raise an exception of Python where a condition does not hold.
///
/// Args:
///     condition: A tensor of one bool.
///     name: The class, as "module:name".
///     message: What people are told.
///     words: What the exception is made with, in words of `fluvial._convert.raised`.
///     values: The tensors that these speak of.
#[pyfunction]
fn raise_unless(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    name: &str,
    message: &str,
    words: Vec<String>,
    values: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let condition = args::var(condition)?;
    let values = args::many(values)?;
    let values: Vec<&Var> = values.iter().collect();
    let raised = Raised {
        message: message.into(),
        class: name.into(),
        args: words.iter().map(|word| word.as_str().into()).collect(),
        values: Vec::new(),
    };
    call::run_attached(py, || Assert::raise_unless(&condition, raised, &values))
}

/// The number of the next call of the block being built.
#[pyfunction]
fn next_call() -> usize {
    core::visit_calls_from(usize::MAX, &mut |_, _, _| {})
}

/// The exception that a call raises if it fails: a class, or the name of one.
fn class_of(py: Python<'_>, op: &OpRef, kind: ErrorKind) -> Py<PyAny> {
    match op.downcast::<Assert>().and_then(|assert| assert.raises.clone()) {
        Some(name) => pyo3::types::PyString::new(py, &name).into_any().unbind(),
        None => errors::class_of(py, kind),
    }
}

/// Whether a call cannot fail, though its op may: loops and lists of converted code check lengths before, and what
/// is printed has a text.
fn is_checked(op: &OpRef) -> bool {
    let prints = |call: &HostCall| &*call.function == "fluvial.print";
    op.downcast::<ListPop>().is_some()
        || op.downcast::<RepeatIndex>().is_some()
        || op.downcast::<HostCall>().is_some_and(prints)
}

/// Has a function be called before each call is appended that may fail when the program runs.
///
/// Args:
///     hook: It is given the op, the user's line, the exception (a class, the name of one, or nothing if the call
///         has been checked before), and the words that the exception is made with. Or nothing.
///
/// Returns:
///     Nothing; the former function is forgotten.
#[pyfunction]
#[pyo3(signature = (hook))]
fn on_fault(hook: Option<Py<PyAny>>) {
    let told = |hook: Py<PyAny>| -> FaultHook {
        Rc::new(move |op: &OpRef, types: &[&Type], loc| {
            Python::attach(|py| {
                let Some(Fault { kind, .. }) = op.fails(types) else { return Ok(()) };
                let class = (!is_checked(op)).then(|| class_of(py, op, kind));
                let words = op.downcast::<Assert>().map(|assert| {
                    assert.args.iter().map(|word| word.to_string()).collect::<Vec<String>>()
                });
                let given = (op.name(), loc.to_string(), class, words);
                hook.call1(py, given).map(drop).map_err(errors::callback)
            })
        })
    };
    drop(core::on_fault(hook.map(told)));
}

/// Says that a name stands for a tensor of the program from here on, for runs that fail further on.
///
/// Args:
///     name: A name that begins with "@".
///     value: The tensor.
#[pyfunction]
fn note_value(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let value = args::var(value)?;
    call::run_attached(py, || core::note_value(name, &value))
}

/// Has the program raise the error again that an attempt has caught.
///
/// Args:
///     condition: Where it does: a tensor of one bool.
///     key: What the notes of the attempt are called.
#[pyfunction]
fn raise_again(py: Python<'_>, condition: &Bound<'_, PyAny>, key: &str) -> PyResult<()> {
    let condition = args::var(condition)?;
    call::run_attached(py, || fluvial::ops::control::raise_again(&condition, key))
}

/// What such names stood for where the last run of this thread has failed; it is given once.
#[pyfunction]
fn left_behind() -> Vec<(String, Tensor)> {
    let told = fluvial::runtime::plan::left_behind().into_iter();
    told.map(|(name, value)| (name.to_string(), Tensor::new(Var::new(value)))).collect()
}

/// What of the calls since may fail when the program runs.
///
/// Args:
///     first: What `next_call` gave.
///
/// Returns:
///     For each its op, the user's line, and the exception: a class, or the name of one.
#[pyfunction]
fn failing_since(py: Python<'_>, first: usize) -> Vec<(String, String, Py<PyAny>)> {
    let mut found: Vec<(OpRef, String, ErrorKind)> = Vec::new();
    core::visit_calls_from(first, &mut |op: &OpRef, types: &[&Type], loc| {
        let is_checked = !op.blocks().is_empty() || is_checked(op);
        let Some(Fault { kind, .. }) = op.fails(types).filter(|_| !is_checked) else { return };
        found.push((op.clone(), loc.to_string(), kind));
    });
    let told = |(op, line, kind): (OpRef, String, ErrorKind)| {
        (op.name().to_string(), line, class_of(py, &op, kind))
    };
    found.into_iter().map(told).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(begin_message, module)?)?;
    module.add_function(wrap_pyfunction!(end_message, module)?)?;
    module.add_function(wrap_pyfunction!(raise_unless, module)?)?;
    module.add_function(wrap_pyfunction!(next_call, module)?)?;
    module.add_function(wrap_pyfunction!(on_fault, module)?)?;
    module.add_function(wrap_pyfunction!(note_value, module)?)?;
    module.add_function(wrap_pyfunction!(left_behind, module)?)?;
    module.add_function(wrap_pyfunction!(raise_again, module)?)?;
    module.add_function(wrap_pyfunction!(failing_since, module)?)
}
