//! The user's line: the innermost Python frame outside this package.

use std::sync::OnceLock;

use fluvial::core::Loc;
use fluvial::kernels;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// The folder of the package `fluvial`, with a separator at its end.
static PACKAGE: OnceLock<String> = OnceLock::new();

/// Tells where the package lies; frames in its files are not the user's.
#[pyfunction]
fn set_package_folder(folder: &str) {
    let with_separator = format!("{}{}", folder, std::path::MAIN_SEPARATOR);
    PACKAGE.get_or_init(|| with_separator);
}

/// The user's file, line and function. It costs microseconds: ask while building or after an error.
pub fn here(py: Python<'_>) -> Loc {
    find(py).ok().flatten().unwrap_or(Loc::Unknown)
}

fn find(py: Python<'_>) -> PyResult<Option<Loc>> {
    // SAFETY: the thread is attached, and the frame is a borrowed reference or null.
    let innermost = unsafe {
        let frame = ffi::PyEval_GetFrame();
        Bound::from_borrowed_ptr_or_opt(py, frame.cast())
    };
    let mut next = innermost;
    while let Some(frame) = next {
        let code = frame.getattr(intern!(py, "f_code"))?;
        let file = code.getattr(intern!(py, "co_filename"))?;
        let file = file.cast::<PyString>()?.to_cow()?;
        if !is_ours(&file) {
            let line =
                frame.getattr(intern!(py, "f_lineno"))?.extract::<Option<u32>>()?.unwrap_or(0);
            let function = code.getattr(intern!(py, "co_name"))?.extract::<String>()?;
            let function = (function != "<module>").then_some(&*function);
            return Ok(Some(Loc::intern(&file, line, 0, function, None)));
        }
        let back = frame.getattr(intern!(py, "f_back"))?;
        next = (!back.is_none()).then_some(back);
    }
    Ok(None)
}

fn is_ours(file: &str) -> bool {
    PACKAGE.get().is_some_and(|folder| file.starts_with(folder.as_str()))
}

/// What this module was built for, by name.
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("profile", if cfg!(debug_assertions) { "dev" } else { "release" })?;
    info.set_item("simd", format!("{:?}", kernels::simd::level()))?;
    info.set_item("threads", kernels::threads::count())?;
    Ok(info)
}

/// Sets how many threads kernels use.
///
/// Args:
///     count: At least one.
#[pyfunction]
fn set_num_threads(count: usize) -> PyResult<()> {
    if count == 0 {
        return Err(PyValueError::new_err("kernels need a thread\n  remedy: pass 1 or more"));
    }
    kernels::threads::set_count(count);
    Ok(())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(build_info, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_package_folder, module)?)
}
