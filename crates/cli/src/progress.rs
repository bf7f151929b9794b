//! How far a run has come: a bar, lines or events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fluvial::core::structural::{Assign, Constant};
use fluvial::core::{Attr, Attrs, Block, Call, Program, Role, Value, ValueId};
use fluvial::data::Reader;
use fluvial::debug::Sources;
use fluvial::runtime::{Step, Trip};
use serde_json::{Map, Value as Json, json};

use crate::journal::Journal;
use crate::out::Out;

/// The most numbers that are shown.
const MAX_NUMBERS: usize = 4;

/// The width of a bar, in letters.
const WIDTH: usize = 24;

/// A loop that took less is not worth a last line.
const SHORT: Duration = Duration::from_secs(1);

/// Tells how many trips the outermost loop has made, how many a second, how long it will take if their number
/// is known, and the numbers that it carries. It is asked once a trip, and costs next to nothing.
pub struct Progress<'a> {
    out: &'a Out,
    every: Option<Duration>,
    journal: Option<&'a Journal>,
    source: &'a Program,
    compiled: &'a Program,
    /// Whether the run begins at its start, so that trips can be counted from there.
    from_start: bool,
    running: RefCell<Option<Running>>,
    inner: RefCell<Inner>,
}

/// The loop under way.
struct Running {
    depth: usize,
    index: usize,
    line: String,
    /// The trips, if they can be counted before.
    total: Option<u64>,
    /// Place among the arguments of a trip and name of each carried value.
    carried: Vec<(usize, String)>,
    began: Instant,
    /// Trips that have begun.
    n_trips: u64,
    /// When something was written last, and the trips at that time.
    written: (Instant, u64),
}

impl<'a> Progress<'a> {
    /// For runs of a program, given as it was written and as it was compiled.
    pub fn new(out: &'a Out, source: &'a Program, compiled: &'a Program) -> Progress<'a> {
        let every = match (out.is_quiet(), out.is_json(), out.has_terminal()) {
            (true, _, _) => None,
            (_, true, _) => Some(500),
            (_, _, true) => Some(100),
            _ => Some(2000),
        };
        let every = every.map(Duration::from_millis);
        let (running, inner) = (RefCell::default(), RefCell::default());
        Progress { out, every, journal: None, source, compiled, from_start: true, running, inner }
    }

    /// Tells a journal of the numbers of each trip, too.
    pub fn journal(mut self, journal: Option<&'a Journal>) -> Progress<'a> {
        self.journal = journal;
        self
    }

    /// For a run that may go on from where another one was stopped.
    pub fn resumed(mut self, is_resumed: bool) -> Progress<'a> {
        self.from_start = !is_resumed;
        self
    }

    /// A loop is about to make a trip.
    pub fn trip(&self, trip: &Trip<'_>) {
        if self.every.is_none() && self.journal.is_none() {
            return;
        }
        let step = trip.step;
        let mut running = self.running.borrow_mut();
        if let (Some(journal), Some(known)) = (self.journal, &*running)
            && step.depth > known.depth
        {
            self.inner.borrow_mut().trip(journal, trip);
        }
        match &*running {
            Some(known) if step.depth > known.depth => return,
            Some(known) if (step.depth, step.index) == (known.depth, known.index) => {}
            _ => {
                self.end(running.take());
                *running = Some(self.begin(step));
            }
        }
        let Some(running) = &mut *running else { return };
        running.n_trips += 1;
        let n_done = running.n_trips - 1;
        if let Some(journal) = self.journal {
            self.inner.borrow_mut().begin_again(step.depth);
            // Before the first trip, the numbers are what the loop begins with.
            if n_done > 0 {
                journal.numbers(n_done, &numbers(&running.carried, trip.args));
            }
        }
        let Some(every) = self.every else { return };
        let now = Instant::now();
        if now - running.written.0 < every {
            return;
        }
        let rate = (n_done.saturating_sub(running.written.1)) as f64
            / (now - running.written.0).as_secs_f64().max(1e-9);
        running.written = (now, n_done);
        let numbers = foremost(numbers(&running.carried, trip.args));
        let text = running.text(rate, &numbers, self.out.has_terminal());
        match self.out.has_terminal() {
            true => self.out.bar(&text),
            false => self.out.note(&text, || running.event("progress", rate, &numbers)),
        }
    }

    /// The run is over.
    pub fn finish(&self) {
        self.end(self.running.borrow_mut().take());
        self.out.clear_bar();
    }

    fn begin(&self, step: &Step<'_>) -> Running {
        let now = Instant::now();
        let is_outermost = step.depth == 0;
        let total = (is_outermost && self.from_start).then(|| self.total(step)).flatten();
        let main = is_outermost.then_some(self.compiled);
        let written = is_outermost.then(|| self.written(step)).flatten();
        let carried = carried(step, main, written);
        Running {
            depth: step.depth,
            index: step.index,
            line: match step.loc.is_known() {
                true => step.loc.to_string(),
                false => step.op.name().to_string(),
            },
            total,
            carried,
            began: now,
            n_trips: 0,
            written: (now, 0),
        }
    }

    fn end(&self, running: Option<Running>) {
        let Some(mut running) = running else { return };
        if let Some(journal) = self.journal {
            journal.loop_ends(running.n_trips);
        }
        let elapsed = running.began.elapsed();
        if elapsed < SHORT && !self.out.is_json() {
            return;
        }
        let rate = running.n_trips as f64 / elapsed.as_secs_f64().max(1e-9);
        // All trips that have begun are over.
        running.n_trips += 1;
        let total = running.total.take();
        let text = running.text(rate, &[], false);
        self.out.note(&text, || {
            let mut event = running.event("loop", rate, &[]);
            event["total"] = json!(total);
            event
        });
    }

    /// The trips of a loop of the main block, if it goes through data that can be counted, or counts up to a
    /// number that the program has.
    fn total(&self, step: &Step<'_>) -> Option<u64> {
        if let Some(reader) = step.op.reader() {
            return results(reader, &step.op.attrs());
        }
        counted(&self.source.main, self.written(step)?)
    }

    /// A loop of the main block as it was written.
    fn written(&self, step: &Step<'_>) -> Option<&'a Call> {
        let is_loop = |call: &&Call| call.op.carries().is_some();
        let nth = |block: &Block| {
            let mut loops = block.calls.iter().filter(is_loop);
            loops.position(|call| call.first_output == step.first_output)
        };
        let n_loops = |block: &Block| block.calls.iter().filter(is_loop).count();
        let (source, compiled) = (&self.source.main, &self.compiled.main);
        if n_loops(source) != n_loops(compiled) {
            return None;
        }
        source.calls.iter().filter(is_loop).nth(nth(compiled)?)
    }
}

impl Running {
    /// Seconds that are left.
    fn left(&self, rate: f64) -> Option<f64> {
        let n_left = self.total?.checked_sub(self.n_trips - 1)?;
        (rate > 0.0).then(|| n_left as f64 / rate)
    }

    fn text(&self, rate: f64, numbers: &[(&str, f64)], has_bar: bool) -> String {
        let n_done = self.n_trips - 1;
        let seconds = self.began.elapsed().as_secs_f64();
        let mut text = match self.total {
            Some(total) if has_bar => {
                let filled = (WIDTH as u64 * n_done / total.max(1)).min(WIDTH as u64) as usize;
                let (done, left) = ("#".repeat(filled), "-".repeat(WIDTH - filled));
                format!("[{done}{left}] {n_done}/{total} trips")
            }
            Some(total) => format!("{}: {n_done}/{total} trips", self.line),
            None => format!("{}: {n_done} trips", self.line),
        };
        text += &match rate {
            rate if rate < 10.0 => format!(", {rate:.2}/s, {seconds:.1} s"),
            rate => format!(", {rate:.0}/s, {seconds:.1} s"),
        };
        if let Some(left) = self.left(rate) {
            text += &format!(", {} left", time(left));
        }
        for (name, number) in numbers {
            text += &format!("  {name} {}", short(*number));
        }
        text
    }

    fn event(&self, event: &str, rate: f64, numbers: &[(&str, f64)]) -> Json {
        let values: Map<String, Json> =
            numbers.iter().map(|(name, number)| (name.to_string(), json!(number))).collect();
        json!({
            "event": event,
            "line": self.line,
            "trips": self.n_trips - 1,
            "total": self.total,
            "rate": rate,
            "seconds": self.began.elapsed().as_secs_f64(),
            "seconds_left": self.left(rate),
            "values": values,
        })
    }
}

/// Names and values of the numbers that are carried.
fn numbers<'a>(carried: &'a [(usize, String)], args: &[Value]) -> Vec<(&'a str, f64)> {
    let number = |(place, name): &'a (usize, String)| match args.get(*place) {
        Some(Value::Tensor(tensor)) if tensor.numel() == 1 && tensor.dtype().is_float() => {
            Some((name.as_str(), tensor.to_f64s()[0]))
        }
        _ => None,
    };
    carried.iter().filter_map(number).collect()
}

/// Those that a line has room for, losses first.
fn foremost(mut numbers: Vec<(&str, f64)>) -> Vec<(&str, f64)> {
    let is_loss = |name: &str| name.contains("loss") || name.contains("cost");
    numbers.sort_by_key(|(name, _)| !is_loss(name));
    numbers.truncate(MAX_NUMBERS);
    numbers
}

/// Loops inside of the outermost one, by depth, position and line, for the journal.
#[derive(Default)]
struct Inner(BTreeMap<(usize, usize, u32), InnerLoop>);

struct InnerLoop {
    carried: Vec<(usize, String)>,
    n_trips: u64,
    /// Whether the next trip is the first one of a run of the loop, so that the numbers are what it begins with.
    is_first: bool,
}

impl Inner {
    /// A loop around has begun a trip.
    fn begin_again(&mut self, depth: usize) {
        let inside = self.0.iter_mut().filter(|((inner, ..), _)| *inner > depth);
        inside.for_each(|(_, inner)| inner.is_first = true);
    }

    fn trip(&mut self, journal: &Journal, trip: &Trip<'_>) {
        let step = trip.step;
        self.begin_again(step.depth);
        let place = || match step.loc.is_known() {
            true => {
                let file = step.loc.file();
                format!("{}:{}", file.rsplit('/').next().unwrap_or(&file), step.loc.line())
            }
            false => step.op.name().to_string(),
        };
        let inner = self.0.entry((step.depth, step.index, step.loc.line())).or_insert_with(|| {
            let named = |(at, name): (usize, String)| (at, format!("{}/{name}", place()));
            let carried = carried(step, None, None).into_iter().map(named).collect();
            InnerLoop { carried, n_trips: 0, is_first: true }
        });
        if !std::mem::take(&mut inner.is_first) {
            journal.numbers_at(inner.n_trips, &numbers(&inner.carried, trip.args));
        }
        inner.n_trips += 1;
    }
}

/// A time that is guessed.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 2.0 * 3600.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A number in a few digits.
fn short(number: f64) -> String {
    match number.abs() {
        size if size == 0.0 || (1e-3..1e6).contains(&size) => format!("{number:.6}"),
        _ => format!("{number:.4e}"),
    }
}

/// Place and name of what a loop carries: as people named it, the state or the output that it becomes, or the variable to
/// which the source assigns it. `written` is the loop before it was compiled.
fn carried(
    step: &Step<'_>,
    program: Option<&Program>,
    written: Option<&Call>,
) -> Vec<(usize, String)> {
    let Some(carries) = step.op.carries() else { return Vec::new() };
    let blocks = step.op.blocks();
    let main = program.map(|program| &program.main);
    let mut sources = Sources::default();
    let mut by_source = |k: usize| {
        let is_same = |call: &&Call| call.op.carries().is_some_and(|of| of.count == carries.count);
        let written = written.filter(is_same).map(|call| call.op.blocks());
        let body = written.as_ref().unwrap_or(&blocks).first()?;
        let call = producer(body, *body.results.get(carries.results + k)?)?;
        call.loc.is_known().then(|| sources.assigned(&call.loc.file(), call.loc.line()))?
    };
    let mut name = |k: usize| {
        let output = step.first_output + (carries.outputs + k) as ValueId;
        let by_people = main.and_then(|main| main.names.get(&output));
        let as_output = || {
            let place = main?.results.iter().position(|id| *id == output)?;
            program?.outputs.get(place)
        };
        let inside = || blocks.first()?.names.get(&((carries.params + k) as ValueId));
        let state = || {
            let assigns = |call: &&Call| call.inputs.contains(&output);
            let mut calls = main?.calls.iter().filter(assigns);
            calls.find_map(|call| call.op.downcast::<Assign>().map(|assign| &assign.state))
        };
        let found = by_people.or_else(state).or_else(inside).cloned();
        let found = found.or_else(|| by_source(k)).or_else(|| as_output().cloned());
        found.map_or_else(|| format!("value {k}"), |name| name.to_string())
    };
    // What an optimizer remembers tells nobody anything.
    let is_told = |(_, name): &(usize, String)| {
        let state = program.and_then(|program| program.states.get(name.as_str()));
        state.is_none_or(|state| state.role != Role::Optimizer)
    };
    (0..carries.count).map(|k| (carries.params + k, name(k))).filter(is_told).collect()
}

/// How many results a loop over a reader goes through from the start.
fn results(reader: &str, attrs: &Attrs) -> Option<u64> {
    let Some(&Attr::Int(epochs)) = attrs.get("epochs") else { return None };
    let n_results = reader.parse::<Reader>().ok()?.open().ok()?.len(0)?;
    n_results.checked_mul(u64::try_from(epochs).ok()?)
}

/// The trips of a loop whose condition compares a counter with a number.
fn counted(block: &Block, call: &Call) -> Option<u64> {
    let carries = call.op.carries()?;
    let blocks = call.op.blocks();
    let body = blocks.first()?;
    // The condition stands before the carried values.
    let condition = producer(body, *body.results.get(carries.results.checked_sub(1)?)?)?;
    let (next, bound) = match (condition.op.name(), condition.inputs.as_slice()) {
        ("lt", &[a, b]) => (a, b),
        ("gt", &[a, b]) => (b, a),
        _ => return None,
    };
    let step = producer(body, next).filter(|call| call.op.name() == "add")?;
    let &[a, b] = step.inputs.as_slice() else { return None };
    let (counter, by) = if (a as usize) < body.n_params { (a, b) } else { (b, a) };
    let k = (counter as usize).checked_sub(carries.params).filter(|&k| k < carries.count)?;
    if body.results.get(carries.results + k) != Some(&next) {
        return None;
    }
    let outside = |place: usize| number(block, *call.inputs.get(carries.inputs + place)?);
    let inside = |id: ValueId| match (id as usize).checked_sub(carries.params + carries.count) {
        Some(captured) if (id as usize) < body.n_params => outside(carries.count + captured),
        _ => number(body, id),
    };
    let (first, by, bound) = (outside(k)?, inside(by)?, inside(bound)?);
    let trips = ((bound - first) / by).ceil();
    (by > 0.0 && (1.0..1e15).contains(&trips)).then_some(trips as u64)
}

fn producer(block: &Block, id: ValueId) -> Option<&Call> {
    block.calls.iter().find(|call| call.outputs().contains(&id))
}

/// The number that a value is known to be.
fn number(block: &Block, id: ValueId) -> Option<f64> {
    let op = &producer(block, id)?.op;
    match op.downcast::<Constant>() {
        Some(constant) if constant.value.numel() == 1 => Some(constant.value.to_f64s()[0]),
        _ => op.uniform(),
    }
}

#[cfg(test)]
mod tests {
    use fluvial::core::Tensor;

    use super::*;

    fn running(total: Option<u64>) -> Running {
        let now = Instant::now();
        Running {
            depth: 0,
            index: 0,
            line: "train.py:7".to_string(),
            total,
            carried: vec![(1, "rate".to_string()), (2, "loss".to_string())],
            began: now,
            n_trips: 301,
            written: (now, 0),
        }
    }

    #[test]
    fn lines_and_bars() {
        let numbers = [("loss", 0.25), ("rate", 1e-5)];
        let line = running(None).text(1234.5, &numbers, true);
        assert_eq!(line, "train.py:7: 300 trips, 1234/s, 0.0 s  loss 0.250000  rate 1.0000e-5");
        let line = running(Some(1200)).text(2.0, &[], false);
        assert_eq!(line, "train.py:7: 300/1200 trips, 2.00/s, 0.0 s, 8 min left");
        let bar = running(Some(1200)).text(100.0, &[], true);
        assert_eq!(bar, "[######------------------] 300/1200 trips, 100/s, 0.0 s, 9 s left");
        // More trips than were counted, and none yet.
        assert!(running(Some(100)).text(100.0, &[], true).starts_with("[####################"));
        assert_eq!(running(Some(100)).left(100.0), None);
        assert_eq!(running(Some(1200)).left(0.0), None);
    }

    #[test]
    fn losses_come_first() {
        let of = |x: f32| Value::Tensor(Tensor::scalar(x));
        let args = [Value::Tensor(Tensor::scalar(7i64)), of(0.5), of(0.25)];
        let running = running(None);
        let all = numbers(&running.carried, &args);
        assert_eq!(foremost(all), [("loss", 0.25), ("rate", 0.5)]);
        assert_eq!(numbers(&running.carried, &args[..1]), []);
    }
}
