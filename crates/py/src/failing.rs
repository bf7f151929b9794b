//! Exceptions of Python that programs raise, and what of a program may fail, for code that catches.

use std::cell::RefCell;

use fluvial::core::{self, ErrorKind, Fault, OpRef, Type, Var};
use fluvial::ops::host::{Assert, Raised};
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

/// What of the calls since may fail when the program runs.
///
/// Args:
///     first: What `next_call` gave.
///
/// Returns:
///     For each its op, the user's line, and the exception: a class, or the name of one.
#[pyfunction]
fn failing_since(py: Python<'_>, first: usize) -> Vec<(String, String, Py<PyAny>)> {
    let mut found: Vec<(String, String, ErrorKind, Option<String>)> = Vec::new();
    core::visit_calls_from(first, &mut |op: &OpRef, types: &[&Type], loc| {
        // Loops and lists of converted code check lengths before.
        let of_lists = op.downcast::<ListPop>().is_some() || op.downcast::<RepeatIndex>().is_some();
        let is_checked = !op.blocks().is_empty() || of_lists;
        let Some(Fault { kind, .. }) = op.fails(types).filter(|_| !is_checked) else { return };
        let named = op.downcast::<Assert>().and_then(|assert| assert.raises.clone());
        found.push((op.name().into(), loc.to_string(), kind, named.map(|name| name.to_string())));
    });
    let class = |kind, named: Option<String>| match named {
        Some(name) => pyo3::types::PyString::new(py, &name).into_any().unbind(),
        None => errors::class_of(py, kind),
    };
    found.into_iter().map(|(op, line, kind, named)| (op, line, class(kind, named))).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(begin_message, module)?)?;
    module.add_function(wrap_pyfunction!(end_message, module)?)?;
    module.add_function(wrap_pyfunction!(raise_unless, module)?)?;
    module.add_function(wrap_pyfunction!(next_call, module)?)?;
    module.add_function(wrap_pyfunction!(failing_since, module)?)
}
