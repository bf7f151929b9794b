//! The debugger of this process, for `fl.debug`.

use std::time::Duration;

use fluvial_debug as debug;
use fluvial_debug::server::Options;
use pyo3::prelude::*;

use crate::{errors, lines};

/// How often a wait looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Lets clients debug the programs of this process; the port and the token that they need.
///
/// Args:
///     port: 0 for one that is free.
///     wait: Whether to wait for a client that has set its breakpoints.
///     token: What clients must say.
#[pyfunction]
#[pyo3(signature = (port, wait, token))]
fn debug_listen(
    py: Python<'_>,
    port: u16,
    wait: bool,
    token: Option<String>,
) -> PyResult<(u16, Option<String>)> {
    let options = Options { port, token, ..Options::default() };
    let address = py.detach(|| debug::listen(options)).map_err(|error| errors::raise(py, error))?;
    while wait && !py.detach(|| debug::wait_for_client(LOOK)) {
        py.check_signals()?;
    }
    Ok((address.port, address.token))
}

/// Where the debugger listens: port and token; nothing if it does not.
#[pyfunction]
fn debug_address() -> Option<(u16, Option<String>)> {
    debug::address().map(|address| (address.port, address.token))
}

/// Lets no clients debug any more.
#[pyfunction]
fn debug_stop(py: Python<'_>) {
    py.detach(debug::stop);
}

/// Makes the caller's line a stop of programs that pass it.
#[pyfunction]
fn debug_breakpoint(py: Python<'_>) {
    let loc = lines::here(py);
    py.detach(|| debug::break_at(loc));
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A process that cannot be asked by a signal can still be told by its own code.
    #[cfg(unix)]
    let _ = debug::allow();
    module.add_function(wrap_pyfunction!(debug_listen, module)?)?;
    module.add_function(wrap_pyfunction!(debug_address, module)?)?;
    let stop = wrap_pyfunction!(debug_stop, module)?;
    // Who debugs is told that the process ends.
    module.py().import("atexit")?.call_method1("register", (&stop,))?;
    module.add_function(stop)?;
    module.add_function(wrap_pyfunction!(debug_breakpoint, module)?)
}
