//! What was, so that it can be again: snapshots of runs, bounded, and what was run since.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluvial_core::{Result, Role, State, Value, Values};
use fluvial_runtime::Executor;
use fluvial_runtime::attach::Start;
use fluvial_runtime::plan::Plan;

use super::pos::Pos;
use crate::inspect;

/// A run, as it was begun.
#[derive(Clone)]
pub struct Run {
    pub number: u64,
    pub executor: Executor,
    pub plan: Arc<Plan>,
    pub start: Start,
    /// How many trips its loops had made before, by depth, and how many steps had begun.
    pub trips: (Vec<u64>, u64),
}

/// All that a run needs to go on from a point.
#[derive(Clone)]
pub struct Snapshot {
    pub pos: Pos,
    pub start: Start,
    pub trips: Vec<u64>,
    /// How many steps had begun.
    pub steps: u64,
    states: Vec<(Arc<str>, Role, Value)>,
    bytes: usize,
    /// Whether no value had NaN.
    pub is_clean: bool,
}

/// The runs and snapshots that are kept, the first first.
pub struct History {
    pub runs: VecDeque<Run>,
    pub snapshots: VecDeque<Snapshot>,
    limit: usize,
    /// The time between snapshots, if `FLUVIAL_DEBUG_EVERY` says how many milliseconds.
    every: Option<Duration>,
    /// When the last snapshot was taken, and how long that took.
    last: Option<(Instant, Duration)>,
    /// What came from outside since the oldest snapshot, by where: results of functions of the host's language.
    outside: BTreeMap<Pos, Values>,
}

/// The least time between snapshots. What is between them must be run again when going back.
const EVERY: Duration = Duration::from_millis(100);
/// Snapshots take at most one part of so many of the time.
const SHARE: u32 = 100;
/// The bytes that snapshots may hold, unless `FLUVIAL_DEBUG_HISTORY` says how many MB.
const LIMIT: usize = 512 << 20;

impl Default for History {
    fn default() -> History {
        let limit = std::env::var("FLUVIAL_DEBUG_HISTORY").ok();
        let limit = limit.and_then(|text| text.parse::<usize>().ok());
        let limit = limit.map_or(LIMIT, |megabytes| megabytes << 20);
        let every = std::env::var("FLUVIAL_DEBUG_EVERY").ok();
        let every = every.and_then(|text| text.parse().ok()).map(Duration::from_millis);
        History {
            runs: VecDeque::new(),
            snapshots: VecDeque::new(),
            limit,
            every,
            last: None,
            outside: BTreeMap::new(),
        }
    }
}

impl History {
    /// Whether it is time for a snapshot.
    pub fn is_due(&self) -> bool {
        let pause = |took: Duration| self.every.unwrap_or(EVERY.max(took * SHARE));
        self.last.is_none_or(|(when, took)| when.elapsed() >= pause(took))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.snapshots.clear();
        self.outside.clear();
        self.last = None;
    }

    /// Keeps what a call has brought in from outside.
    pub fn note_outside(&mut self, pos: Pos, outputs: &[Value]) {
        self.outside.insert(pos, outputs.iter().cloned().collect());
    }

    /// What a call has brought in from outside when it was run first.
    pub fn outside(&self, pos: &Pos) -> Option<Values> {
        self.outside.get(pos).cloned()
    }

    /// Takes a snapshot of the states, for a run that goes on from `start`.
    pub fn take(
        &mut self,
        pos: Pos,
        start: Start,
        (trips, steps): (Vec<u64>, u64),
        state: &State,
    ) -> Result<()> {
        let began = Instant::now();
        let states = states(state)?;
        let of_start: &[Value] = match &start {
            Start::Inputs(inputs) => inputs,
            Start::Suspension(_) => &[],
        };
        let carried = match &start {
            Start::Inputs(_) => Vec::new(),
            Start::Suspension(suspension) => suspension.values(),
        };
        let all = || {
            states.iter().map(|(_, _, value)| value).chain(of_start).chain(carried.iter().copied())
        };
        let bytes = all().map(bytes_of).sum();
        let is_clean = !all().any(has_nan);
        drop(carried);
        self.snapshots.push_back(Snapshot { pos, start, trips, steps, states, bytes, is_clean });
        self.bound();
        self.last = Some((Instant::now(), began.elapsed()));
        Ok(())
    }

    /// Adds a snapshot that was recorded.
    pub fn put(
        &mut self,
        pos: Pos,
        start: Start,
        (trips, steps): (Vec<u64>, u64),
        states: Vec<(Arc<str>, Role, Value)>,
    ) {
        let bytes = states.iter().map(|(_, _, value)| bytes_of(value)).sum();
        let is_clean = !states.iter().any(|(_, _, value)| has_nan(value));
        self.snapshots.push_back(Snapshot { pos, start, trips, steps, states, bytes, is_clean });
    }

    /// All that came from outside, by where.
    pub fn all_outside(&self) -> impl Iterator<Item = (&Pos, &Values)> {
        self.outside.iter()
    }

    /// Forgets the oldest, but never the latest.
    fn bound(&mut self) {
        let mut bytes: usize = self.snapshots.iter().map(|snapshot| snapshot.bytes).sum();
        while bytes > self.limit && self.snapshots.len() > 1 {
            bytes -= self.snapshots.pop_front().map_or(0, |oldest| oldest.bytes);
        }
        let first = self.snapshots.front().map_or(0, |snapshot| snapshot.pos.run());
        self.runs.retain(|run| run.number >= first);
        if let Some(oldest) = self.snapshots.front() {
            self.outside = self.outside.split_off(&oldest.pos);
        }
    }

    /// The number of the latest snapshot before a point.
    pub fn before(&self, pos: &Pos) -> Option<usize> {
        self.snapshots.iter().rposition(|snapshot| snapshot.pos < *pos)
    }

    /// Forgets what was after a point, since the past is another one now.
    pub fn cut(&mut self, pos: &Pos) {
        self.snapshots.retain(|snapshot| snapshot.pos <= *pos);
        drop(self.outside.split_off(pos));
    }

    /// The run of that number.
    pub fn run(&self, number: u64) -> Option<&Run> {
        self.runs.iter().find(|run| run.number == number)
    }
}

impl Snapshot {
    /// The states, by name.
    pub fn states(&self) -> &[(Arc<str>, Role, Value)] {
        &self.states
    }

    /// Gives the states what they had.
    pub fn restore(&self, state: &State) -> Result<()> {
        for name in state.names() {
            if !self.states.iter().any(|(known, _, _)| *known == name) {
                state.remove(&name);
            }
        }
        for (name, role, value) in &self.states {
            state.insert(name, *role, value.clone())?;
        }
        Ok(())
    }
}

fn states(state: &State) -> Result<Vec<(Arc<str>, Role, Value)>> {
    let mut states = Vec::new();
    for (name, cell) in state.cells() {
        if let (Some(decl), Some(var)) = (cell.declaration(), cell.get()) {
            states.push((name, decl.role, var.value()?.clone()));
        }
    }
    Ok(states)
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Tensor(tensor) => tensor.numel() * tensor.dtype().size(),
        Value::List(list) => list.iter().map(bytes_of).sum(),
        Value::Device(_) | Value::Channel(_) => 0,
    }
}

/// Whether a value has NaN.
pub fn has_nan(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => inspect::contains_nan(tensor),
        Value::List(list) => list.iter().any(has_nan),
        Value::Device(here) => here.host().is_ok_and(inspect::contains_nan),
        Value::Channel(_) => false,
    }
}

/// Whether a value has infinity.
pub fn has_infinity(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => inspect::contains_inf(tensor),
        Value::List(list) => list.iter().any(has_infinity),
        Value::Device(here) => here.host().is_ok_and(inspect::contains_inf),
        Value::Channel(_) => false,
    }
}
