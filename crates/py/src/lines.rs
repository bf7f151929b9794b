//! The user's line: the innermost Python frame outside this package; while building also those
//! that called it.

use std::sync::OnceLock;

use fluvial::core::{Loc, Mode, mode};
use fluvial::kernels;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// So many calls above the user's line are kept.
const MAX_CALLERS: usize = 32;

/// The folders whose files are not the user's, each with a separator at its end.
struct Folders {
    package: String,
    library: String,
}

static FOLDERS: OnceLock<Folders> = OnceLock::new();

/// Tells where the package `fluvial` and Python's own library lie; frames there are not the user's.
#[pyfunction]
fn set_folders(package: &str, library: &str) {
    let with_separator = |folder: &str| format!("{folder}{}", std::path::MAIN_SEPARATOR);
    FOLDERS.get_or_init(|| Folders {
        package: with_separator(package),
        library: with_separator(library),
    });
}

/// The user's file, line and function; while building with the calls that led there. It costs
/// microseconds: ask while building or after an error.
pub fn here(py: Python<'_>) -> Loc {
    let n_callers = match mode() {
        Mode::Building => MAX_CALLERS,
        Mode::Imperative => 0,
    };
    find(py, n_callers).unwrap_or(Loc::Unknown)
}

/// One frame: file, line, function.
type Frame = (String, u32, Option<String>);

fn find(py: Python<'_>, n_callers: usize) -> PyResult<Loc> {
    // SAFETY: the thread is attached, and the frame is a borrowed reference or null.
    let innermost = unsafe {
        let frame = ffi::PyEval_GetFrame();
        Bound::from_borrowed_ptr_or_opt(py, frame.cast())
    };
    let mut chain: Vec<Frame> = Vec::new();
    let mut next = innermost;
    while let Some(frame) = next {
        let code = frame.getattr(intern!(py, "f_code"))?;
        let file = code.getattr(intern!(py, "co_filename"))?;
        let file = file.cast::<PyString>()?.to_cow()?;
        // The innermost line counts wherever it is, unless Python imports; those above it only in code of the user's
        // own.
        let is_import = file.starts_with("<frozen importlib");
        if !is_ours(&file) && !is_import && (chain.is_empty() || !is_installed(&file)) {
            let line =
                frame.getattr(intern!(py, "f_lineno"))?.extract::<Option<u32>>()?.unwrap_or(0);
            let function = code.getattr(intern!(py, "co_name"))?.extract::<String>()?;
            let function = (function != "<module>").then_some(function);
            chain.push((file.into_owned(), line, function));
            if chain.len() > n_callers {
                break;
            }
        }
        let back = frame.getattr(intern!(py, "f_back"))?;
        next = (!back.is_none()).then_some(back);
    }
    let outer_first = chain.iter().rev();
    Ok(outer_first.fold(Loc::Unknown, |caller, (file, line, function)| {
        Loc::intern(file, *line, 0, function.as_deref(), Some(caller))
    }))
}

fn is_ours(file: &str) -> bool {
    FOLDERS.get().is_some_and(|folders| file.starts_with(folders.package.as_str()))
}

/// Whether the file belongs to Python or to an installed package.
fn is_installed(file: &str) -> bool {
    file.starts_with("<frozen")
        || file.contains("site-packages")
        || file.contains("dist-packages")
        || FOLDERS.get().is_some_and(|folders| file.starts_with(folders.library.as_str()))
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
    module.add_function(wrap_pyfunction!(set_folders, module)?)
}
