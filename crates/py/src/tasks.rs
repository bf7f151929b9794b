//! Parallel loops, tasks and channels.

use fluvial::core::tasks::{self, Announced, World};
use fluvial::core::{self, Cell, Dim, Loc, Var, at};
use fluvial::kernels::threads;
use fluvial::ops;
use fluvial::ops::control::{ParallelFor, Reduce, Trips};
use fluvial::ops::random::Drawing;
use fluvial::ops::tasks::{
    ChannelClose, ChannelRecv, ChannelSelect, ChannelSend, ChannelTimer, Go, MakeChannel, Started,
    WaitTask,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::blocks::{self, Block};
use crate::parameter::Parameter;
use crate::tensor::Tensor;
use crate::types::TypeArg;
use crate::{call, errors, interrupt, lines};

/// Opens the body of a parallel loop inside the program being built.
///
/// Args:
///     tensors: What is sliced along the first axis.
///
/// Returns:
///     The number of the trip, and a slice of each.
#[pyfunction]
fn begin_trips(py: Python<'_>, tensors: Vec<Bound<'_, Tensor>>) -> PyResult<Vec<Tensor>> {
    let vars: Vec<Var> = tensors.iter().map(|tensor| tensor.get().var(py)).collect();
    let params = call::run_attached(py, || {
        let types = ParallelFor::param_types(&vars.iter().collect::<Vec<_>>())?;
        let params = core::begin_block(&types)?;
        match ParallelFor::begin(&params[0]) {
            Ok(()) => Ok(params),
            Err(error) => {
                core::abort_block();
                Err(error)
            }
        }
    })?;
    Ok(params.into_iter().map(Tensor::new).collect())
}

/// A parallel loop over a block that `begin_trips` has opened; see `fluvial_ops::control::parallel_for_of`.
///
/// Args:
///     body: The block.
///     tensors: What is sliced.
///     count: The number of trips, if nothing is sliced.
///     reduce: What becomes of the results: "stack", "sum" or "mean".
#[pyfunction]
fn parallel_for_of(
    py: Python<'_>,
    body: &Block,
    tensors: Vec<Bound<'_, Tensor>>,
    count: Option<usize>,
    reduce: &str,
) -> PyResult<Vec<Tensor>> {
    let vars: Vec<Var> = tensors.iter().map(|tensor| tensor.get().var(py)).collect();
    let reduce = match reduce {
        "sum" => Reduce::Sum,
        "mean" => Reduce::Mean,
        _ => Reduce::Stack,
    };
    let traced = body.take()?;
    let results = call::run_attached(py, || {
        let xs: Vec<&Var> = vars.iter().collect();
        let trips = Trips { count: count.map(Dim::size), xs: &xs, shared: &[], reduce };
        ops::control::parallel_for_of(trips, traced)
    })?;
    Ok(results.into_iter().map(Tensor::new).collect())
}

/// Calls `f` on the user's line, with other Python threads running meanwhile where it may wait.
fn waiting<R: Send>(py: Python<'_>, f: impl FnOnce() -> core::Result<R> + Send) -> PyResult<R> {
    let loc = lines::here(py);
    let result = match core::mode() {
        core::Mode::Building => {
            let _line = at(loc);
            f()
        }
        core::Mode::Imperative => {
            interrupt::listen();
            interrupt::forget_old();
            py.detach(|| {
                let _line = at(loc);
                f()
            })
        }
    };
    result.map_err(|error| errors::raise(py, error))
}

/// Makes a channel; see `fl.make_channel`.
#[pyfunction]
fn make_channel(py: Python<'_>, message: TypeArg, capacity: usize) -> PyResult<Tensor> {
    waiting(py, || MakeChannel::of(&message.0, capacity)).map(Tensor::new)
}

/// Sends a value.
#[pyfunction]
fn channel_send(py: Python<'_>, channel: &Tensor, value: &Tensor) -> PyResult<()> {
    let (channel, value) = (channel.var(py), value.var(py));
    waiting(py, || ChannelSend::to(&channel, &value))
}

/// Receives a value, and whether there was one.
#[pyfunction]
fn channel_recv(py: Python<'_>, channel: &Tensor) -> PyResult<(Tensor, Tensor)> {
    let channel = channel.var(py);
    let (value, ok) = waiting(py, || ChannelRecv::from(&channel))?;
    Ok((Tensor::new(value), Tensor::new(ok)))
}

/// Closes a channel.
#[pyfunction]
fn channel_close(py: Python<'_>, channel: &Tensor) -> PyResult<()> {
    let channel = channel.var(py);
    waiting(py, || ChannelClose::of(&channel))
}

/// A channel on which a number comes after so many seconds.
#[pyfunction]
fn channel_timer(py: Python<'_>, seconds: &Tensor) -> PyResult<Tensor> {
    let seconds = seconds.var(py);
    waiting(py, || ChannelTimer::after(&seconds)).map(Tensor::new)
}

/// What a case of `channel_select` received: a value, and whether there was one; nothing for those that send.
type Received = Option<(Tensor, Tensor)>;

/// Waits for one of several cases: a channel, and what is sent on it, or nothing to receive.
///
/// Returns:
///     The number of the case, -1 for the default; and what was received, by case.
#[pyfunction]
fn channel_select(
    py: Python<'_>,
    cases: Vec<(Bound<'_, Tensor>, Option<Bound<'_, Tensor>>)>,
    default: bool,
) -> PyResult<(Tensor, Vec<Received>)> {
    let var = |tensor: &Bound<'_, Tensor>| tensor.get().var(py);
    let cases: Vec<(Var, Option<Var>)> =
        cases.iter().map(|(channel, value)| (var(channel), value.as_ref().map(var))).collect();
    let chosen = waiting(py, || {
        let cases: Vec<(&Var, Option<&Var>)> =
            cases.iter().map(|(channel, value)| (channel, value.as_ref())).collect();
        ChannelSelect::of(&cases, default)
    })?;
    let received = chosen.received.into_iter();
    let received = received.map(|of| of.map(|(value, ok)| (Tensor::new(value), Tensor::new(ok))));
    Ok((Tensor::new(chosen.case), received.collect()))
}

/// Waits for what a task leaves in a channel, where it stays.
#[pyfunction]
fn wait_task(py: Python<'_>, result: &Tensor) -> PyResult<Tensor> {
    let result = result.var(py);
    waiting(py, || WaitTask::of(&result)).map(Tensor::new)
}

/// Opens the block of a task inside the program being built.
#[pyfunction]
fn begin_task(py: Python<'_>) -> PyResult<()> {
    call::run_attached(py, || {
        let stream = Go::stream()?;
        core::begin_block(&[])?;
        Go::begin(&stream).inspect_err(|_| core::abort_block())
    })
}

/// A task of the program being built.
#[pyclass(unsendable, module = "fluvial._core")]
pub struct ProgramTask(Started);

#[pymethods]
impl ProgramTask {
    /// Waits for the task, assigns the states that it assigns, and gives its results.
    fn wait(&self, py: Python<'_>) -> PyResult<Vec<Tensor>> {
        let results = call::run_attached(py, || self.0.wait())?;
        Ok(results.into_iter().map(Tensor::new).collect())
    }

    /// The names of the states that it assigns.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.0.states().map(|name| name.to_string()).collect()
    }
}

/// Closes the block of a task, also if it raises, and starts it.
///
/// Args:
///     results: What the task gives.
#[pyfunction]
fn end_task(py: Python<'_>, results: Vec<Bound<'_, PyAny>>) -> PyResult<ProgramTask> {
    let results: PyResult<Vec<Var>> = results.iter().map(blocks::carried).collect();
    let results = results.inspect_err(|_| core::abort_block())?;
    let started = call::run_attached(py, || {
        let checked = results.iter().try_for_each(Go::check_result);
        checked.inspect_err(|_| core::abort_block())?;
        Go::started(core::end_block(&results.iter().collect::<Vec<_>>())?)
    })?;
    Ok(ProgramTask(started))
}

/// A task of Python, which `fl.go` has made and a thread of Python will run.
#[pyclass(frozen, module = "fluvial._core")]
pub struct LineTask {
    started: Loc,
    task: Announced,
    /// The random stream of its own.
    stream: Var,
}

#[pymethods]
impl LineTask {
    /// Counted from here on, so that nobody takes it for one that cannot come.
    #[new]
    fn new(py: Python<'_>) -> PyResult<LineTask> {
        let started = lines::here(py);
        let stream = call::run_attached(py, Go::stream)?;
        let task = Announced::new(started, World::current());
        Ok(LineTask { started, task, stream })
    }

    /// Says that it was waited for: what it has assigned may be assigned again.
    fn settle(&self) {
        tasks::settle(&self.task);
    }

    /// Runs a function as this task, in the thread that calls it. What it raises ends all waiting.
    fn run(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
    ) -> PyResult<Py<PyAny>> {
        let entered = tasks::take_part(&self.task);
        let drawing = Drawing::from_stream(self.stream.clone());
        let result = function.call1(args);
        if let Err(exception) = &result {
            let error = errors::callback(exception.clone_ref(py));
            self.task.world().end(error.note(format!("in the task started at {}", self.started)));
        }
        drop(drawing);
        drop(entered);
        result.map(Bound::unbind)
    }
}

/// Says that tasks share parameters: nobody else may read or assign them until `end_sharing`.
#[pyfunction]
fn begin_sharing(py: Python<'_>, states: Vec<Bound<'_, Parameter>>) -> PyResult<()> {
    let cells: Vec<Cell> = states.iter().map(|state| state.get().inner.cell()).collect();
    let loc = lines::here(py);
    call::run_attached(py, || {
        let _line = at(loc);
        for (i, cell) in cells.iter().enumerate() {
            let held = match core::mode() {
                core::Mode::Imperative => tasks::share(&cell.here()),
                core::Mode::Building => core::hold_cell(cell),
            };
            held.inspect_err(|_| cells[..i].iter().for_each(no_longer_shared))?;
        }
        Ok(())
    })
}

/// Ends what `begin_sharing` began.
#[pyfunction]
fn end_sharing(states: Vec<Bound<'_, Parameter>>) {
    states.iter().for_each(|state| no_longer_shared(&state.get().inner.cell()));
}

fn no_longer_shared(cell: &Cell) {
    match core::mode() {
        core::Mode::Imperative => tasks::unshare(&cell.here()),
        core::Mode::Building => core::release_cell(cell),
    }
}

/// A random stream of its own for a trip or a task.
#[pyclass(frozen, module = "fluvial._core")]
pub struct Stream(Var);

/// The stream of the next trip or task that is run line by line.
#[pyfunction]
fn next_stream(py: Python<'_>) -> PyResult<Stream> {
    call::run_attached(py, Go::stream).map(Stream)
}

/// Calls a function that draws from a stream of its own, and whose kernels run on this thread alone.
#[pyfunction]
fn run_trip(stream: &Stream, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let _drawing = Drawing::from_stream(stream.0.clone());
    threads::alone(|| function.call0().map(Bound::unbind))
}

/// How many threads kernels use.
#[pyfunction]
fn get_num_threads() -> usize {
    threads::count()
}

/// What tasks of Python wait for now, a line for each.
#[pyfunction]
fn tasks_waiting() -> Vec<String> {
    World::current().waiting()
}

/// Says how to find out how many threads Python has, so that a deadlock of its tasks can be told.
#[pyfunction]
fn count_threads_by(count: Py<PyAny>) {
    tasks::set_outsiders(move |members| {
        Python::attach(|py| {
            let n_threads = count.call0(py).and_then(|n| n.extract::<usize>(py));
            n_threads.map_or(true, |n| n > members)
        })
    });
}

/// Sends warnings of tasks that were left waiting to a function of Python.
#[pyfunction]
fn tell_left_by(function: Py<PyAny>) {
    tasks::tell_left(move |left| {
        let left = left.to_vec();
        Python::attach(|py| {
            if let Err(error) = function.call1(py, (left,)) {
                error.print(py);
            }
        });
    });
}

/// Runs a function; in runs of programs meanwhile one task runs at a time, in an order that follows from the seed.
#[pyfunction]
fn with_schedule(seed: u64, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    tasks::with_schedule(Some(seed), || function.call0().map(Bound::unbind))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ProgramTask>()?;
    module.add_class::<LineTask>()?;
    module.add_class::<Stream>()?;
    module.add_function(wrap_pyfunction!(begin_sharing, module)?)?;
    module.add_function(wrap_pyfunction!(end_sharing, module)?)?;
    module.add_function(wrap_pyfunction!(next_stream, module)?)?;
    module.add_function(wrap_pyfunction!(run_trip, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(begin_trips, module)?)?;
    module.add_function(wrap_pyfunction!(parallel_for_of, module)?)?;
    module.add_function(wrap_pyfunction!(make_channel, module)?)?;
    module.add_function(wrap_pyfunction!(channel_send, module)?)?;
    module.add_function(wrap_pyfunction!(channel_recv, module)?)?;
    module.add_function(wrap_pyfunction!(channel_close, module)?)?;
    module.add_function(wrap_pyfunction!(channel_timer, module)?)?;
    module.add_function(wrap_pyfunction!(channel_select, module)?)?;
    module.add_function(wrap_pyfunction!(wait_task, module)?)?;
    module.add_function(wrap_pyfunction!(begin_task, module)?)?;
    module.add_function(wrap_pyfunction!(end_task, module)?)?;
    module.add_function(wrap_pyfunction!(tasks_waiting, module)?)?;
    module.add_function(wrap_pyfunction!(count_threads_by, module)?)?;
    module.add_function(wrap_pyfunction!(tell_left_by, module)?)?;
    module.add_function(wrap_pyfunction!(with_schedule, module)?)
}
