//! Conducts runs: in stretches from snapshot to snapshot, forwards and, by running parts again, backwards.

use std::sync::{Arc, Mutex, TryLockError};

use fluvial_core::{Result, State, Value};
use fluvial_runtime::attach::{Conductor, Ended, Job, Start};
use fluvial_runtime::{Executor, Live, Observer, Step, Trip};

use super::halt::Why;
use super::history::{History, Run, Snapshot, has_nan};
use super::lane::{Lane, ended};
use super::mode::{Mode, Seek, What};
use super::points::{on_fault, settle};
use super::pos::Pos;
use super::shared::{Known, Leaving, Shared};
use crate::target::{Event, Fault, Reason};

/// What conducts runs.
pub struct Director {
    pub shared: Arc<Shared>,
    lane: Lane,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    history: History,
    n_runs: u64,
    /// How often the states had been assigned when the last run ended.
    versions: Option<u64>,
    /// The run that was suspended for somebody else, and where its loops were.
    suspended: Option<(u64, (Vec<u64>, u64))>,
}

/// From where a stretch is run.
struct From {
    run: u64,
    start: Start,
    /// How many trips its loops have made, and how many steps have begun.
    trips: (Vec<u64>, u64),
}

impl Director {
    pub fn new(shared: Arc<Shared>) -> Director {
        Director { lane: Lane::new(shared.clone()), shared, inner: Mutex::default() }
    }

    /// What is known of a program, which is looked at when it comes for the first time.
    fn known(&self, executor: &Executor) -> Arc<Known> {
        let mut control = self.shared.control();
        if let Some(known) = control.programs.iter().find(|known| known.is(executor)) {
            return known.clone();
        }
        let number = control.programs.len() as u32 + 1;
        let known = Arc::new(Known::new(number, executor));
        control.programs.push(known.clone());
        drop(control);
        self.shared.emit(&Event::Program(known.info.clone()));
        self.shared.settle_all();
        known
    }

    /// Begins a run, or goes on with one that was suspended for somebody else.
    fn begin(&self, inner: &mut Inner, job: &Job<'_>) -> Result<From> {
        let state = job.executor.state();
        let known = self.known(job.executor);
        {
            let mut lane = self.lane.inner();
            if lane.mode == Mode::Free && self.shared.control().leaving.is_none() {
                // Somebody else debugs now.
                lane.mode = Mode::Run;
                inner.history.clear();
                self.shared.control().edits.clear();
            }
        }
        let is_same = inner.history.runs.back().is_some_and(|run| known.is(&run.executor));
        let resumed = match (&job.start, inner.suspended.take()) {
            (Start::Suspension(_), Some(at)) if is_same => Some(at),
            _ => None,
        };
        let is_other = inner.versions.is_some_and(|before| before != versions(state));
        if is_other && resumed.is_none() {
            // What the host has done to the states cannot be done again.
            inner.history.clear();
        }
        let (run, trips) = resumed.unwrap_or_else(|| {
            inner.n_runs += 1;
            (inner.n_runs, (Vec::new(), 0))
        });
        if matches!(job.start, Start::Suspension(_)) && trips.0.is_empty() {
            let text = "the run had begun before: its steps are counted from here";
            self.shared.note(text, fluvial_core::Loc::Unknown);
        }
        let from = From { run, start: job.start.clone(), trips: trips.clone() };
        if inner.history.run(run).is_none() {
            inner.history.runs.push_back(Run {
                number: run,
                executor: job.executor.clone(),
                plan: job.plan.clone(),
                start: job.start.clone(),
                trips: trips.clone(),
            });
        }
        if inner.history.snapshots.is_empty() || inner.history.is_due() && trips.0.is_empty() {
            inner.history.take(Pos::of_run(run), job.start.clone(), trips, state)?;
        }
        Ok(from)
    }

    /// Runs a stretch.
    fn stretch(&self, inner: &Inner, from: From, job: &Job<'_>) -> Result<Ended> {
        let Some(run) = inner.history.run(from.run) else {
            return Err(forgotten());
        };
        let known = self.known(&run.executor);
        {
            let mut lane = self.lane.inner();
            lane.stack.begin(from.run, known, from.trips);
            lane.state = Some(run.executor.state().clone());
            lane.can_go_back = !inner.history.snapshots.is_empty();
            (lane.last, lane.wants_snapshot, lane.knows_failure) = (None, false, false);
            if self.shared.control().leaving.is_some() {
                lane.mode = Mode::Free;
            } else if std::mem::take(&mut self.shared.control().wants_entry) {
                lane.mode = Mode::Entry;
            }
        }
        let is_due = || inner.history.is_due();
        let wanted = |trip: &Trip<'_>| {
            let wants = self.lane.before_trip(trip, &is_due);
            let is_live = !self.lane.inner().is_replay;
            // Somebody else counts trips, each of them once.
            let is_wanted = (is_live && from.run == inner.n_runs && (job.wanted)(trip)) || wants;
            if is_wanted {
                self.lane.inner().mark();
            }
            is_wanted
        };
        let both = Both { lane: &self.lane, other: job.observer };
        run.executor.stretch(&run.plan, from.start, Some(&both), &wanted)
    }

    /// Where to run from, to get to what is sought.
    fn seek(&self, inner: &mut Inner, seek: Seek) -> Result<From> {
        let mut lane = self.lane.inner();
        lane.is_replay = true;
        // What was printed is not printed again.
        fluvial_ops::mute_prints(true);
        let pos = match &seek {
            Seek::Last(_, before) | Seek::Found { before, .. } => before.clone(),
            Seek::To(pos, _) | Seek::Nan(pos) | Seek::NotFound(pos) => pos.clone(),
            Seek::Step(_) => Pos::default(),
        };
        let latest = inner.history.before(&pos).unwrap_or(0);
        let first = first_pos(&inner.history);
        let mut at = latest;
        lane.mode = match seek {
            Seek::Last(what, before) => Mode::Search { what, before, found: None },
            Seek::Found { found: Some(found), what, .. } => {
                let text = match what {
                    What::Op => "at the op before",
                    What::Line => "at the line before",
                    What::Breakpoint => "at a breakpoint, going back",
                };
                at = inner.history.before(&found).unwrap_or(0);
                Mode::SeekTo { pos: found, why: Why::new(Reason::Step, text, None) }
            }
            // Nothing since that snapshot: before it there may be.
            Seek::Found { found: None, what, before } => {
                let searched = lane.searched.take().unwrap_or(latest);
                match searched.checked_sub(1) {
                    Some(earlier) => {
                        at = earlier;
                        Mode::Search { what, before, found: None }
                    }
                    None => {
                        at = 0;
                        let text = "as early as the history goes";
                        Mode::SeekTo { pos: first, why: Why::new(Reason::Step, text, None) }
                    }
                }
            }
            Seek::To(pos, why) => Mode::SeekTo { pos, why },
            Seek::Step(step) => {
                let is_before =
                    |snapshot: &Snapshot| match snapshot.trips.is_empty() && snapshot.steps == 0 {
                        // Without loops, runs are the steps.
                        true => snapshot.pos.run() <= lane.stack.run.min(step + 1).max(1),
                        false => snapshot.steps <= step,
                    };
                at = inner.history.snapshots.iter().rposition(is_before).unwrap_or(0);
                Mode::ToStep(step)
            }
            Seek::Nan(until) => {
                let clean =
                    inner.history.snapshots.iter().take(latest + 1).rposition(|s| s.is_clean);
                match clean {
                    Some(clean) => {
                        at = clean;
                        Mode::Hunt { until, is_excused: false }
                    }
                    None => not_found(&self.shared, until),
                }
            }
            Seek::NotFound(until) => not_found(&self.shared, until),
        };
        lane.searched = Some(at);
        let Some(snapshot) = inner.history.snapshots.get(at) else {
            return Err(fluvial_core::Error::state("there is nothing to go back to"));
        };
        let run = snapshot.pos.run();
        let trips = (snapshot.trips.clone(), snapshot.steps);
        let from = From { run, start: snapshot.start.clone(), trips };
        if let Some(run) = inner.history.run(run) {
            snapshot.restore(run.executor.state())?;
        }
        Ok(from)
    }

    /// After a run has ended: what to run next, or nothing if it was the one that is wanted.
    fn after(&self, inner: &mut Inner, run: u64, values: &[Value]) -> Option<Seek> {
        let mut lane = self.lane.inner();
        let end = Pos::of_run(run + 1);
        match &lane.mode {
            Mode::Search { what, before, found } if *before <= end => {
                return Some(Seek::Found {
                    what: *what,
                    before: before.clone(),
                    found: found.clone(),
                });
            }
            Mode::Hunt { until, is_excused: false } if *until <= end => {
                return Some(Seek::NotFound(until.clone()));
            }
            Mode::Hunt { until, .. } if *until <= end => {
                lane.mode = Mode::Run;
                return None;
            }
            Mode::Search { .. } | Mode::Hunt { .. } | Mode::SeekTo { .. } | Mode::Free => {
                return None;
            }
            _ => {}
        }
        let watches_nan = on_fault(&self.shared.control().points, Fault::Nan).is_some();
        let is_small = |value: &&Value| value.tensor().is_ok_and(|tensor| tensor.numel() <= 64);
        let found = watches_nan && values.iter().filter(is_small).any(has_nan);
        let is_new = found && !lane.knows_nan && run == inner.n_runs;
        lane.knows_nan = found;
        is_new.then_some(Seek::Nan(end))
    }

    fn run(&self, inner: &mut Inner, job: &Job<'_>) -> Result<Ended> {
        let mut from = self.begin(inner, job)?;
        loop {
            let run = from.run;
            let ended_by = self.stretch(inner, from, job);
            let (seek, wants_snapshot, trips, next) = {
                let mut lane = self.lane.inner();
                let cuts = std::mem::take(&mut lane.cuts);
                if cuts {
                    let pos = lane.stack.pos();
                    inner.history.cut(&pos);
                }
                let wants = std::mem::take(&mut lane.wants_snapshot);
                let (trips, next) = lane.left_at();
                (lane.rewind.take(), wants, trips, next)
            };
            if let Some(seek) = seek {
                from = self.seek(inner, seek)?;
                continue;
            }
            let leaving = self.shared.control().leaving;
            match ended_by? {
                Ended::Suspended(suspension) => {
                    if suspension.is_stop {
                        return Ok(Ended::Suspended(suspension));
                    }
                    match leaving {
                        Some(Leaving::Quit) => return Err(ended()),
                        Some(Leaving::Detach) => return self.leave(inner, run, suspension, job),
                        None => {}
                    }
                    let start = Start::Suspension(suspension);
                    if wants_snapshot {
                        let state = job.executor.state();
                        inner.history.take(next, start.clone(), trips.clone(), state)?;
                    } else if let Start::Suspension(suspension) = start {
                        inner.suspended = Some((run, trips));
                        return Ok(Ended::Suspended(suspension));
                    }
                    from = From { run, start, trips };
                }
                Ended::Done(values) => {
                    if let Some(seek) = self.after(inner, run, &values) {
                        from = self.seek(inner, seek)?;
                        continue;
                    }
                    if run >= inner.n_runs {
                        return Ok(Ended::Done(values));
                    }
                    let Some(next) = inner.history.run(run + 1) else {
                        return Err(forgotten());
                    };
                    let (start, trips) = (next.start.clone(), next.trips.clone());
                    from = From { run: run + 1, start, trips };
                }
            }
        }
    }

    /// The rest of a run, and of those after it that were run already, without anybody who debugs.
    fn leave(
        &self,
        inner: &Inner,
        run: u64,
        suspension: fluvial_runtime::Suspension,
        job: &Job<'_>,
    ) -> Result<Ended> {
        let mut start = Start::Suspension(suspension);
        for number in run..inner.n_runs {
            let (Some(run), Some(next)) =
                (inner.history.run(number), inner.history.run(number + 1))
            else {
                return Err(forgotten());
            };
            run.executor.stretch(&run.plan, start, None, &|_| false)?;
            start = next.start.clone();
        }
        match start {
            // It may be debugged again later.
            Start::Suspension(suspension) => Ok(Ended::Suspended(suspension.handed_back())),
            start => job.executor.stretch(&job.plan, start, job.observer, job.wanted),
        }
    }
}

fn forgotten() -> fluvial_core::Error {
    fluvial_core::Error::internal("a run was forgotten")
}

fn first_pos(history: &History) -> Pos {
    history.snapshots.front().map_or_else(Pos::default, |snapshot| snapshot.pos.clone())
}

/// A stop where NaN was seen, of which it cannot be told where it came from.
fn not_found(shared: &Shared, until: Pos) -> Mode {
    let text =
        "a value has NaN; it does not come up again when its ops are run one by one from before";
    shared.note(text, fluvial_core::Loc::Unknown);
    let why = Why::new(Reason::Exception(Fault::Nan), text, None);
    Mode::SeekTo { pos: until, why }
}

/// How often states have been assigned.
fn versions(state: &State) -> u64 {
    state.cells().values().map(|cell| cell.version() + 1).sum()
}

impl Conductor for Director {
    fn conduct(&self, job: Job<'_>) -> Result<Ended> {
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // One run at a time is debugged; what runs beside or within it goes on by itself.
            Err(TryLockError::WouldBlock) => {
                return job.executor.stretch(&job.plan, job.start, job.observer, job.wanted);
            }
        };
        self.shared.control().is_running = true;
        let done = self.run(&mut inner, &job);
        fluvial_ops::mute_prints(false);
        inner.versions = Some(versions(job.executor.state()));
        {
            let mut control = self.shared.control();
            (control.stop, control.asks, control.is_running) = (None, None, false);
            if control.leaving == Some(Leaving::Quit) {
                control.leaving = None;
            }
        }
        done
    }
}

/// The debugger, and who else observes the run; he is told of each step once.
struct Both<'a> {
    lane: &'a Lane,
    other: Option<&'a dyn Observer>,
}

impl Both<'_> {
    fn tell(&self, f: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()> {
        match self.other {
            Some(other) if !self.lane.inner().is_replay => f(other),
            _ => Ok(()),
        }
    }
}

impl Observer for Both<'_> {
    fn before(&self, step: &Step<'_>, inputs: &[&Value]) -> Result<()> {
        self.tell(|other| other.before(step, inputs))
    }

    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        self.tell(|other| other.after(step, outputs))
    }

    fn reach(&self, step: &Step<'_>, live: &mut Live<'_>) -> Result<()> {
        self.lane.reach(step, live)
    }

    fn opens(&self, step: &Step<'_>) -> bool {
        self.lane.opens(step)
    }

    fn holds(&self, step: &Step<'_>) -> bool {
        self.lane.holds(step)
    }

    fn compare(&self, step: &Step<'_>, parts: &[Value], whole: &[Value]) -> Result<bool> {
        self.lane.compare(step, parts, whole)
    }

    fn ran(&self, step: &Step<'_>, live: &mut Live<'_>, outputs: &mut [Value]) -> Result<()> {
        self.lane.ran(step, live, outputs)
    }

    fn failed(
        &self,
        step: &Step<'_>,
        live: &mut Live<'_>,
        error: &fluvial_core::Error,
    ) -> Result<()> {
        self.lane.failed(step, live, error)
    }

    fn enter(&self, step: &Step<'_>, block: usize, args: &[&Value]) -> Result<()> {
        self.lane.enter(step, block, args)?;
        self.tell(|other| other.enter(step, block, args))
    }

    fn leave(&self, step: &Step<'_>, block: usize, results: &[Value]) -> Result<()> {
        self.tell(|other| other.leave(step, block, results))
    }

    fn assign(&self, state: &str, value: &Value, loc: fluvial_core::Loc) -> Result<()> {
        self.tell(|other| other.assign(state, value, loc))
    }
}

impl Shared {
    /// Finds the lines of breakpoints again, and tells of those that are met now and were not before.
    pub fn settle_all(&self) {
        let mut verdicts = Vec::new();
        {
            let mut control = self.control();
            let places: Vec<(Arc<str>, u32)> =
                control.programs.iter().flat_map(|known| known.places.clone()).collect();
            let programs = control.programs.clone();
            for point in &mut control.points {
                let before = super::verdict_of(point, &programs);
                settle(point, &places);
                let after = super::verdict_of(point, &programs);
                if before != after {
                    verdicts.push(after);
                }
            }
        }
        self.changed();
        verdicts.into_iter().for_each(|verdict| self.emit(&Event::Breakpoint(verdict)));
    }
}
