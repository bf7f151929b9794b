//! How an op is run for Python.

use fluvial::core::{Loc, Mode, Result, Var, at, mode, scope};
use pyo3::prelude::*;

use crate::{allocator, errors, interrupt, lines};

/// From this many elements of the inputs on, other Python threads may run meanwhile. Below, an op
/// is over before another thread could have started.
const SHARE_FROM: usize = 1 << 15;

/// Calls `f`, which runs ops on `inputs`. While building, its ops get the user's line; an error
/// gets it afterwards. Nothing else looks for it, because that costs more than a small op.
#[inline]
pub fn run<R: Send>(
    py: Python<'_>,
    inputs: &[&Var],
    f: impl FnOnce() -> Result<R> + Send,
) -> PyResult<R> {
    allocator::check()?;
    let result = match mode() {
        Mode::Building => {
            let _line = at(lines::here(py));
            f()
        }
        Mode::Imperative if scope::is_watched() => {
            let _line = at(lines::here(py));
            f()
        }
        Mode::Imperative if is_long(inputs) => {
            interrupt::listen();
            interrupt::forget_old();
            py.detach(f)
        }
        Mode::Imperative => f(),
    };
    result.map_err(|error| errors::raise(py, error))
}

/// [`run`] for ops that count how often the user's line is passed.
pub fn run_counted<R>(py: Python<'_>, f: impl FnOnce() -> Result<R>) -> PyResult<R> {
    let _line = at(lines::here(py));
    f().map_err(|error| errors::raise(py, error))
}

/// [`run`] for work that is always long.
pub fn run_long<R: Send>(py: Python<'_>, f: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    let loc = line_if_asked(py);
    interrupt::forget_old();
    let result = py.detach(|| {
        let _line = at(loc);
        f()
    });
    result.map_err(|error| errors::raise(py, error))
}

/// [`run`] for functions that call Python themselves.
pub fn run_attached<R>(py: Python<'_>, f: impl FnOnce() -> Result<R>) -> PyResult<R> {
    let _line = at(line_if_asked(py));
    interrupt::forget_old();
    f().map_err(|error| errors::raise(py, error))
}

/// The user's line where ops are marked with it.
pub fn line_if_asked(py: Python<'_>) -> Loc {
    match mode() {
        Mode::Building => lines::here(py),
        Mode::Imperative if scope::is_watched() => lines::here(py),
        Mode::Imperative => Loc::Unknown,
    }
}

#[inline]
fn is_long(inputs: &[&Var]) -> bool {
    let numel = |var: &&Var| var.tensor().map_or(0, |tensor| tensor.numel());
    inputs.iter().map(numel).sum::<usize>() >= SHARE_FROM
}
