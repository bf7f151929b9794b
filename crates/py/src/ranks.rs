//! Several ranks: see `fluvial.dist`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fluvial::compile::{
    Distribution, Sides, Strategy, distribute, distribute_to_servers, parts_of,
};
use fluvial::core::Error;
use fluvial::dist::{self, Comm, Threads};
use fluvial::ops::random::DrawingByRank;
use fluvial::ops::ranks::Announce;
use pyo3::prelude::*;

use crate::program::Program;
use crate::scopes::{self, Entered};
use crate::{call, errors};

static MPI: Mutex<Option<Arc<dist::Mpi>>> = Mutex::new(None);

/// Joins the processes that a launcher has started with this one: see `fl.dist.init`. Gives whether there are any.
#[pyfunction]
fn dist_init(py: Python<'_>, folders: Vec<PathBuf>) -> PyResult<bool> {
    let mut joined = MPI.lock().unwrap_or_else(PoisonError::into_inner);
    if joined.is_some() {
        return Ok(true);
    }
    if dist::launched().is_none() {
        return Ok(false);
    }
    let mpi = call::run_long(py, || dist::Mpi::init(dist::find(&folders)?).map(Arc::new))?;
    dist::set_default(Some(mpi.clone()));
    *joined = Some(mpi);
    Ok(true)
}

/// Ends together with the other processes, or ends them all if something went wrong here.
#[pyfunction]
fn dist_finish(py: Python<'_>, is_fine: bool) -> PyResult<()> {
    let joined = MPI.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mpi) = joined else { return Ok(()) };
    dist::set_default(None);
    match is_fine && mpi.broken().is_none() {
        true => call::run_long(py, || mpi.finalize()),
        false => {
            py.detach(|| mpi.abort(1));
            Ok(())
        }
    }
}

/// The rank of this thread, how many there are, and what they are.
#[pyfunction]
fn dist_ranks() -> (usize, usize, String) {
    let comm = dist::current();
    (comm.rank(), comm.world(), comm.describe())
}

/// Waits until all ranks are here.
#[pyfunction]
fn dist_barrier(py: Python<'_>) -> PyResult<()> {
    call::run_long(py, || dist::current().barrier())
}

/// One of several ranks that are threads: a context manager for its thread.
#[pyclass(frozen, module = "fluvial", name = "ThreadRank")]
struct ThreadRank(Arc<Threads>);

#[pymethods]
impl ThreadRank {
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        scopes::enter(Entered::Ranks(dist::enter(slf.get().0.clone())));
        slf.clone()
    }

    /// Others that wait for this rank are told that it has ended.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        scopes::leave();
        self.0.leave();
    }
}

/// So many ranks that are threads.
#[pyfunction]
fn dist_threads(py: Python<'_>, world: usize) -> PyResult<Vec<ThreadRank>> {
    let ranks = Threads::new(world).map_err(|error| errors::raise(py, error))?;
    Ok(ranks.into_iter().map(ThreadRank).collect())
}

/// A scope in which each rank draws random numbers of its own.
#[pyclass(frozen, module = "fluvial", name = "ByRank")]
struct ByRank;

#[pymethods]
impl ByRank {
    #[new]
    fn new() -> ByRank {
        ByRank
    }

    fn __enter__(&self) {
        scopes::enter(Entered::ByRank(DrawingByRank::begin()));
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        scopes::leave();
    }
}

/// The program that each rank runs: see `fl.dist.transpile`.
#[pyfunction]
fn dist_transpile(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    how: &str,
    world: Option<usize>,
    bucket: usize,
) -> PyResult<Program> {
    let program = program.get().core(py)?;
    let spread = call::run_attached(py, || {
        let mut options = Distribution { world, ..Distribution::new(Strategy::parse(how)?) };
        if bucket == 0 {
            return Err(Error::argument("a bucket has at least one byte"));
        }
        (options.bucket, options.first_bucket) = (bucket, bucket.min(options.first_bucket));
        distribute(&program, &options)
    })?;
    Program::new(py, Ok(spread))
}

/// The programs of trainers and of parameter servers: see `fl.dist.to_servers`.
#[pyfunction]
fn dist_served(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    sides: (usize, usize),
    how: (bool, bool),
    bucket: usize,
) -> PyResult<(Program, Program)> {
    let program = program.get().core(py)?;
    let ((trainers, servers), (until_closed, broadcasts)) = (sides, how);
    let sides = Sides { trainers, servers, until_closed, broadcasts };
    let served = call::run_attached(py, || distribute_to_servers(&program, sides, bucket.max(1)))?;
    Ok((Program::new(py, Ok(served.trainer))?, Program::new(py, Ok(served.server))?))
}

/// By state of which ranks have parts: the type of the whole.
#[pyfunction]
fn dist_parts(py: Python<'_>, program: &Bound<'_, Program>) -> PyResult<BTreeMap<String, String>> {
    let program = program.get().core(py)?;
    let parts = parts_of(&program).into_iter();
    Ok(parts.map(|(name, ty)| (name.to_string(), ty.to_string())).collect())
}

/// Tells parameter servers that this trainer makes no further step.
#[pyfunction]
fn dist_end_of_steps(py: Python<'_>, trainers: usize, servers: usize) -> PyResult<()> {
    call::run_long(py, || {
        let op = Announce { trainers, servers, more: false };
        fluvial::core::Op::eval(&op, &[], &[]).map(drop)
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Other ranks may be threads that need the interpreter.
    dist::wait_by(|wait| Python::attach(|py| py.detach(wait)));
    module.add_class::<ThreadRank>()?;
    module.add_class::<ByRank>()?;
    module.add_function(wrap_pyfunction!(dist_init, module)?)?;
    module.add_function(wrap_pyfunction!(dist_finish, module)?)?;
    module.add_function(wrap_pyfunction!(dist_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(dist_barrier, module)?)?;
    module.add_function(wrap_pyfunction!(dist_threads, module)?)?;
    module.add_function(wrap_pyfunction!(dist_served, module)?)?;
    module.add_function(wrap_pyfunction!(dist_parts, module)?)?;
    module.add_function(wrap_pyfunction!(dist_end_of_steps, module)?)?;
    module.add_function(wrap_pyfunction!(dist_transpile, module)?)
}
