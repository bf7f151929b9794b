//! Where the time goes: by op, by line, and as a trace for a browser.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fluvial_core::{Loc, Result, Value};

use super::{Observer, Step};

/// Measures every step of the runs it observes.
///
/// Printed, it is a table of ops and one of lines, the most expensive first. The time of an op that runs
/// blocks is that of its blocks besides; tables count it without them.
///
/// ```
/// use fluvial_core::{DType, Program, State, Tensor, Type};
/// use fluvial_runtime::{Executor, Profiler};
///
/// let program = Program::build(&[("x", Type::of(DType::F32, &[2])?)], |x| Ok(vec![&x[0] * 2.0]))?;
/// let executor = Executor::new(&program, State::new())?;
/// let profiler = Profiler::new();
/// executor.call().feed("x", Tensor::zeros(DType::F32, &[2])?).observe(&profiler).run()?;
/// assert!(profiler.to_string().contains("mul"));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub struct Profiler {
    start: Instant,
    records: Mutex<Records>,
}

#[derive(Default)]
struct Records {
    /// Steps under way, the innermost last: when they began, and the time of steps inside.
    open: Vec<(Instant, Duration)>,
    done: Vec<Record>,
}

/// One step that has run.
#[derive(Clone, Debug)]
pub struct Record {
    /// The name of the op.
    pub op: &'static str,
    /// The user's line.
    pub loc: Loc,
    /// How many blocks the step stood in.
    pub depth: usize,
    /// When it began, from the start of the profiler.
    pub begin: Duration,
    /// How long it took.
    pub time: Duration,
    /// How long it took without the steps of its blocks.
    pub own_time: Duration,
    /// The bytes of its outputs.
    pub bytes: usize,
}

impl Default for Profiler {
    fn default() -> Profiler {
        Profiler::new()
    }
}

impl Profiler {
    /// A profiler that has seen nothing.
    pub fn new() -> Profiler {
        Profiler { start: Instant::now(), records: Mutex::default() }
    }

    /// All steps in the order in which they ended.
    pub fn records(&self) -> Vec<Record> {
        self.lock().done.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time and number of steps by what `key` says of them, the most time first.
    fn by(&self, key: impl Fn(&Record) -> String) -> Vec<(String, Duration, usize)> {
        let mut sums: HashMap<String, (Duration, usize)> = HashMap::new();
        for record in &self.lock().done {
            let sum = sums.entry(key(record)).or_default();
            *sum = (sum.0 + record.own_time, sum.1 + 1);
        }
        let mut rows: Vec<_> = sums.into_iter().map(|(key, (time, n))| (key, time, n)).collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        rows
    }

    /// Time and number of steps of each op, the most time first.
    pub fn by_op(&self) -> Vec<(String, Duration, usize)> {
        self.by(|record| record.op.to_string())
    }

    /// Time and number of steps of each line, the most time first.
    pub fn by_line(&self) -> Vec<(String, Duration, usize)> {
        self.by(|record| record.loc.to_string())
    }

    /// Writes the steps in the format of Chrome's trace viewer, which `chrome://tracing` and Perfetto
    /// show.
    pub fn write_trace(&self, mut to: impl Write) -> io::Result<()> {
        write!(to, "[")?;
        for (i, record) in self.lock().done.iter().enumerate() {
            let separator = if i > 0 { ",\n" } else { "\n" };
            let marks = record.loc.marks();
            write!(
                to,
                "{separator}{{\"name\": \"{}\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \
                 \"ts\": {:.3}, \"dur\": {:.3}, \"args\": {{\"line\": \"{}\", \"layer\": \"{}\", \
                 \"phase\": \"{}\", \"bytes\": {}}}}}",
                record.op,
                record.begin.as_secs_f64() * 1e6,
                record.time.as_secs_f64() * 1e6,
                escaped(&record.loc.to_string()),
                escaped(&marks.layer().unwrap_or_default()),
                marks.phase.name(),
                record.bytes,
            )?;
        }
        writeln!(to, "\n]")
    }
}

/// The text as part of a string of JSON.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

impl Observer for Profiler {
    fn before(&self, _: &Step<'_>, _: &[&Value]) -> Result<()> {
        self.lock().open.push((Instant::now(), Duration::ZERO));
        Ok(())
    }

    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let end = Instant::now();
        let mut records = self.lock();
        let Some((begin, inside)) = records.open.pop() else { return Ok(()) };
        let time = end - begin;
        if let Some((_, inside)) = records.open.last_mut() {
            *inside += time;
        }
        let bytes = |value: &Value| value.tensor().map_or(0, |x| x.numel() * x.dtype().size());
        records.done.push(Record {
            op: step.op.name(),
            loc: step.loc,
            depth: step.depth,
            begin: begin - self.start,
            time,
            own_time: time.saturating_sub(inside),
            bytes: outputs.iter().map(bytes).sum(),
        });
        Ok(())
    }
}

impl fmt::Display for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: Duration = self.lock().done.iter().map(|record| record.own_time).sum();
        for (title, rows) in [("op", self.by_op()), ("line", self.by_line())] {
            let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0).max(4);
            writeln!(f, "{title:width$} {:>10} {:>6} {:>8} {:>10}", "ms", "%", "steps", "us each")?;
            for (name, time, n) in rows {
                let (ms, share) =
                    (time.as_secs_f64() * 1e3, time.as_secs_f64() / total.as_secs_f64().max(1e-12));
                let each = ms * 1e3 / n as f64;
                writeln!(f, "{name:width$} {ms:10.3} {:5.1}% {n:8} {each:10.1}", share * 100.0)?;
            }
        }
        Ok(())
    }
}
