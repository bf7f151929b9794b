//! Where the time of compiled runs goes.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fluvial::runtime::Profiler;
use pyo3::prelude::*;

thread_local! {
    /// The profilers that this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<Arc<Profiler>>> = const { RefCell::new(Vec::new()) };
}

/// The profiler that watches this thread.
pub fn current() -> Option<Arc<Profiler>> {
    ENTERED.with_borrow(|entered| entered.last().cloned())
}

/// A scope in which every step of the compiled programs that this thread runs is measured.
///
/// Printed, it is a table of ops and one of lines, the most expensive first.
///
/// Args:
///     path: A file for Chrome's trace viewer (chrome://tracing, Perfetto), written at the end.
///
/// Example:
///     >>> f = fl.compile(fl.build(lambda x: fl.exp(x), {"x": "f32[n]"}))
///     >>> with fl.profile() as profile:
///     ...     y = f(fl.tensor([1.0]))
///     >>> [op for op, seconds, count in profile.by_op()]
///     ['exp']
#[pyclass(frozen, module = "fluvial", name = "profile")]
struct Profile {
    path: Option<PathBuf>,
    profiler: Mutex<Arc<Profiler>>,
}

#[pymethods]
impl Profile {
    #[new]
    #[pyo3(signature = (path=None))]
    fn new(path: Option<PathBuf>) -> Profile {
        Profile { path, profiler: Mutex::new(Arc::new(Profiler::new())) }
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let profiler = Arc::new(Profiler::new());
        *slf.get().profiler.lock().unwrap_or_else(PoisonError::into_inner) = profiler.clone();
        ENTERED.with_borrow_mut(|entered| entered.push(profiler));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        ENTERED.with_borrow_mut(Vec::pop);
        self.path.clone().map_or(Ok(()), |path| self.write_trace(path))
    }

    /// Writes the steps in the format of Chrome's trace viewer.
    ///
    /// Args:
    ///     path: The file.
    fn write_trace(&self, path: PathBuf) -> PyResult<()> {
        Ok(self.profiler().write_trace(BufWriter::new(File::create(path)?))?)
    }

    /// Op, seconds and number of steps, the most time first.
    fn by_op(&self) -> Vec<(String, f64, usize)> {
        in_seconds(self.profiler().by_op())
    }

    /// Line, seconds and number of steps, the most time first.
    fn by_line(&self) -> Vec<(String, f64, usize)> {
        in_seconds(self.profiler().by_line())
    }

    fn __str__(&self) -> String {
        self.profiler().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<profile of {} steps>", self.profiler().records().len())
    }
}

impl Profile {
    fn profiler(&self) -> Arc<Profiler> {
        self.profiler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn in_seconds(rows: Vec<(String, std::time::Duration, usize)>) -> Vec<(String, f64, usize)> {
    rows.into_iter().map(|(key, time, count)| (key, time.as_secs_f64(), count)).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Profile>()
}
