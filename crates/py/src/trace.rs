//! Every op that runs, with what it gave: behind `fl.debug.trace`.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fluvial::core::scope::{self, Ran, WatchGuard};
use fluvial::core::{Loc, Result, Value};
use fluvial::runtime::{Observer, Step};
use pyo3::prelude::*;

/// Further ops are counted, but not kept.
const MAX_ROWS: usize = 100_000;

thread_local! {
    /// The tracers that this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// What was entered, and what ends it. A thread that ends inside of it puts nothing back.
type Entered = ManuallyDrop<(Arc<Rows>, WatchGuard)>;

/// The tracer that watches this thread.
pub fn current() -> Option<Arc<Rows>> {
    ENTERED.with_borrow(|entered| entered.last().map(|entered| entered.0.clone()))
}

/// What was traced.
#[derive(Default)]
pub struct Rows(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    rows: Vec<Row>,
    n_left_out: usize,
    /// The steps of compiled runs that are under way: what they take, and when they began.
    open: Vec<(Vec<String>, Instant)>,
    /// By depth: what belongs to the op around, which has not ended yet.
    inside: Vec<Inside>,
}

/// What has run inside of an op that has not ended yet.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// The first of its rows.
    first: Option<usize>,
    /// The time of tracing itself, which is not the op's.
    lost: Duration,
}

/// One op that has run.
struct Row {
    loc: Loc,
    op: &'static str,
    depth: usize,
    inputs: Vec<String>,
    outputs: Vec<(String, Option<Range>)>,
    time: Duration,
}

/// Least, most and mean of the finite elements, and how many are NaN or infinite.
type Range = (f64, f64, f64, usize, usize);

impl Rows {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Adds an op that gave these values, before those that it ran itself.
    fn add(&mut self, row: Row, values: &[&Value]) {
        let begin = Instant::now();
        let Row { depth, time, .. } = row;
        self.inside.resize(self.inside.len().max(depth + 2), Inside::default());
        let inside = std::mem::take(&mut self.inside[depth + 1]);
        if self.rows.len() < MAX_ROWS {
            let outputs = values.iter().map(|value| (value.ty().to_string(), range(value)));
            let time = time.saturating_sub(inside.lost);
            let at = inside.first.unwrap_or(self.rows.len());
            self.rows.insert(at, Row { time, outputs: outputs.collect(), ..row });
            self.inside[depth].first.get_or_insert(at);
        } else {
            self.n_left_out += 1;
        }
        self.inside[depth].lost += inside.lost + begin.elapsed();
    }
}

impl Observer for Rows {
    fn before(&self, _: &Step<'_>, inputs: &[&Value]) -> Result<()> {
        let inputs = inputs.iter().map(|value| value.ty().to_string()).collect();
        self.lock().open.push((inputs, Instant::now()));
        Ok(())
    }

    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let end = Instant::now();
        let mut inner = self.lock();
        let Some((inputs, begin)) = inner.open.pop() else { return Ok(()) };
        let (loc, op, depth, time) = (step.loc, step.op.name(), inner.open.len(), end - begin);
        let row = Row { loc, op, depth, inputs, outputs: Vec::new(), time };
        inner.add(row, &outputs.iter().collect::<Vec<_>>());
        Ok(())
    }
}

/// Notes an op of imperative code.
fn note(rows: &Rows, ran: &Ran<'_>) {
    let values: Vec<&Value> = ran.outputs.iter().filter_map(|var| var.value().ok()).collect();
    let inputs = ran.inputs.iter().map(|var| var.ty().to_string()).collect();
    let mut inner = rows.lock();
    let (loc, op, depth, time) = (ran.loc, ran.name, inner.open.len() + ran.depth, ran.time);
    inner.add(Row { loc, op, depth, inputs, outputs: Vec::new(), time }, &values);
}

fn range(value: &Value) -> Option<Range> {
    let values = value.tensor().ok()?.to_f64s();
    let (mut least, mut most, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let (mut n_nan, mut n_infinite) = (0, 0);
    for &x in &values {
        if x.is_finite() {
            (least, most, sum) = (least.min(x), most.max(x), sum + x);
        } else if x.is_nan() {
            n_nan += 1;
        } else {
            n_infinite += 1;
        }
    }
    let n_finite = values.len() - n_nan - n_infinite;
    match n_finite {
        0 if values.is_empty() => None,
        0 => Some((f64::NAN, f64::NAN, f64::NAN, n_nan, n_infinite)),
        _ => Some((least, most, sum / n_finite as f64, n_nan, n_infinite)),
    }
}

/// A scope in which every op that this thread runs is noted, with programs unfused. `fl.debug.trace`
/// enters it.
#[pyclass(frozen, module = "fluvial", name = "Tracer")]
struct Tracer(Arc<Rows>);

/// Line, op, depth, types of inputs and outputs with the ranges of these, seconds.
type PyRow = (String, &'static str, usize, Vec<String>, Vec<(String, Option<Range>)>, f64);

#[pymethods]
impl Tracer {
    #[new]
    fn new() -> Tracer {
        Tracer(Arc::default())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let rows = slf.get().0.clone();
        let to = rows.clone();
        let watch = scope::watch(Box::new(move |ran| note(&to, ran)));
        ENTERED.with_borrow_mut(|entered| entered.push(ManuallyDrop::new((rows, watch))));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        let innermost = ENTERED.with_borrow_mut(Vec::pop);
        drop(innermost.map(ManuallyDrop::into_inner));
    }

    /// What has run so far, in the order in which it began.
    fn rows(&self) -> Vec<PyRow> {
        let row = |row: &Row| {
            let seconds = row.time.as_secs_f64();
            let (inputs, outputs) = (row.inputs.clone(), row.outputs.clone());
            (row.loc.to_string(), row.op, row.depth, inputs, outputs, seconds)
        };
        self.0.lock().rows.iter().map(row).collect()
    }

    /// How many ops ran that were not kept, since they were too many.
    #[getter]
    fn n_left_out(&self) -> usize {
        self.0.lock().n_left_out
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tracer>()
}
