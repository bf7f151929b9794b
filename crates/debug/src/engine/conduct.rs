//! Conducts runs: in stretches from snapshot to snapshot, forwards and, by running parts again, backwards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

use fluvial_core::{Result, State, Value, Values};
use fluvial_runtime::attach::{Conductor, Ended, Job, Start};
use fluvial_runtime::{Executor, Live, Observer, Step, Trip};

use super::halt::Why;
use super::history::{History, Run, Snapshot, has_nan};
use super::lane::{Lane, SMALL, ended};
use super::mode::{LeftFor, Mode, Seek, What};
use super::points::{on_fault, settle};
use super::pos::Pos;
use super::recording::Recording;
use super::shared::{Edit, Known, Shared, Thread};
use super::source::set_recorded;
use crate::target::{Event, Fault, Reason};

/// What conducts runs: those of each thread on a track of their own, and so those that begin inside of another one.
pub struct Director {
    pub shared: Arc<Shared>,
    tracks: Mutex<Vec<Arc<Track>>>,
}

/// The runs of a thread.
struct Track {
    shared: Arc<Shared>,
    thread: ThreadId,
    lane: Lane,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
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

/// So many threads are kept that have no run under way.
const MAX_IDLE: usize = 8;

impl Director {
    pub fn new(shared: Arc<Shared>) -> Director {
        Director { shared, tracks: Mutex::default() }
    }

    /// The track on which a run of this thread goes, and those of the runs around it.
    fn track(&self) -> (Arc<Track>, Vec<Arc<Track>>) {
        let thread = std::thread::current().id();
        let mut tracks = lock(&self.tracks);
        let is_free =
            |track: &Arc<Track>| !matches!(track.inner.try_lock(), Err(TryLockError::WouldBlock));
        let (free, around): (Vec<_>, Vec<_>) =
            tracks.iter().filter(|track| track.thread == thread).cloned().partition(is_free);
        if let Some(track) = free.into_iter().next() {
            return (track, around);
        }
        let number = {
            let mut control = self.shared.control();
            let number = control.threads.keys().last().map_or(1, |last| last + 1);
            let name = match (std::thread::current().name(), around.len()) {
                (_, depth) if depth > 0 => {
                    format!("a run inside of thread {}", around[depth - 1].lane.thread)
                }
                (Some(name), _) => name.to_string(),
                (None, _) => format!("thread {number}"),
            };
            control.threads.insert(number, Thread { name, ..Thread::default() });
            number
        };
        let idle: Vec<u32> =
            tracks.iter().filter(|track| is_free(track)).map(|track| track.lane.thread).collect();
        // Threads may be gone; the oldest ones are forgotten.
        for old in idle.iter().take((idle.len() + 1).saturating_sub(MAX_IDLE)) {
            tracks.retain(|track| track.lane.thread != *old);
            self.shared.control().threads.remove(old);
        }
        let history = Arc::new(Mutex::new(History::default()));
        let lane = Lane::new(self.shared.clone(), number, history);
        let track =
            Arc::new(Track { shared: self.shared.clone(), thread, lane, inner: Mutex::default() });
        tracks.push(track.clone());
        (track, around)
    }
}

impl Director {
    /// Takes a recording up where it was stopped, and runs it to its end.
    pub fn play(&self, recording: Recording) -> Result<()> {
        let (track, _) = self.track();
        let mut inner = lock(&track.inner);
        let Recording { history, pos, edits, sources } = recording;
        set_recorded(sources);
        let Some(run) = history.run(pos.run()).cloned() else { return Err(forgotten()) };
        *track.lane.history() = history;
        track.known(&run.executor);
        inner.n_runs = run.number;
        {
            let mut lane = track.lane.inner();
            let mut control = self.shared.control();
            lane.session = control.open_session();
            (lane.frontier, lane.has_edits) = (pos.clone(), !edits.is_empty());
            let number = track.lane.thread;
            control.edits = edits.into_iter().map(|edit| Edit { thread: number, ..edit }).collect();
            if let Some(thread) = control.threads.get_mut(&number) {
                thread.is_running = true;
            }
        }
        let why = Why::new(Reason::Pause, "where the run was recorded", None);
        let from = track.seek(Seek::To(pos, why))?;
        let Run { executor, plan, start, .. } = run;
        let job = Job { executor: &executor, plan, start, observer: None, wanted: &|_| false };
        let ended = track.run(&mut inner, &job, Some(from));
        fluvial_ops::mute_prints(false);
        if let Some(thread) = self.shared.control().threads.get_mut(&track.lane.thread) {
            (thread.stop, thread.asks, thread.is_running) = (None, None, false);
        }
        ended.map(drop)
    }
}

impl Track {
    /// What is known of a program, which is looked at when it comes for the first time.
    fn known(&self, executor: &Executor) -> Arc<Known> {
        let _meeting = lock(&self.shared.meeting);
        let mut control = self.shared.control();
        if let Some(known) = control.known(executor) {
            return known;
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
        let mut history = self.lane.history();
        {
            let mut lane = self.lane.inner();
            let mut control = self.shared.control();
            let session = control.open_session();
            if session == 0 {
                lane.mode = Mode::Free;
            } else if lane.session != session {
                // Somebody else debugs now.
                (lane.mode, lane.is_replay, lane.has_edits) = (Mode::Run, false, false);
                (lane.nan_told, lane.rewind) = (None, None);
                history.clear();
                control.edits.retain(|edit| edit.thread != self.lane.thread);
            }
            lane.session = session;
        }
        let is_same = history.runs.back().is_some_and(|run| known.is(&run.executor));
        let resumed = match (&job.start, inner.suspended.take()) {
            (Start::Suspension(_), Some(at)) if is_same => Some(at),
            _ => None,
        };
        let is_other = inner.versions.is_some_and(|before| before != versions(state));
        if is_other && resumed.is_none() {
            // What the host has done to the states cannot be done again.
            history.clear();
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
        if history.run(run).is_none() {
            history.runs.push_back(Run {
                number: run,
                executor: job.executor.clone(),
                plan: job.plan.clone(),
                start: job.start.clone(),
                trips: trips.clone(),
            });
        }
        if history.snapshots.is_empty() || history.is_due() && trips.0.is_empty() {
            history.take(Pos::of_run(run), job.start.clone(), trips, state)?;
        }
        Ok(from)
    }

    /// Runs a stretch.
    fn stretch(&self, inner: &Inner, from: From, job: &Job<'_>) -> Result<Ended> {
        let (run, can_go_back) = {
            let history = self.lane.history();
            let Some(run) = history.run(from.run) else { return Err(forgotten()) };
            (run.clone(), !history.snapshots.is_empty())
        };
        let known = self.known(&run.executor);
        {
            let mut lane = self.lane.inner();
            lane.stack.begin(from.run, known, from.trips);
            lane.state = Some(run.executor.state().clone());
            lane.can_go_back = can_go_back;
            (lane.last, lane.left_for, lane.knows_failure) = (None, None, false);
            let mut control = self.shared.control();
            if control.open_session() != lane.session {
                drop(control);
                self.lane.free(&mut lane);
            } else if std::mem::take(&mut control.wants_entry) {
                lane.mode = Mode::Entry;
            }
        }
        let is_due = || self.lane.history().is_due();
        let wanted = |trip: &Trip<'_>| {
            let wants = self.lane.before_trip(trip, &is_due);
            let is_live = !self.lane.inner().is_replay;
            // Somebody else counts trips, each of them once.
            let host_wants = is_live && from.run == inner.n_runs && (job.wanted)(trip);
            let mut lane = self.lane.inner();
            if host_wants && lane.rewind.is_none() && lane.left_for != Some(LeftFor::Quit) {
                lane.left_for = Some(LeftFor::Host);
            }
            if wants || host_wants {
                lane.mark();
            }
            wants || host_wants
        };
        let both = Both { lane: &self.lane, other: job.observer };
        run.executor.stretch(&run.plan, from.start, Some(&both), &wanted)
    }

    /// Where to run from, to get to what is sought.
    fn seek(&self, seek: Seek) -> Result<From> {
        let history = self.lane.history();
        let mut lane = self.lane.inner();
        lane.is_replay = true;
        // What was printed is not printed again.
        fluvial_ops::mute_prints(true);
        let pos = match &seek {
            Seek::Last(_, before) | Seek::Found { before, .. } => before.clone(),
            Seek::To(pos, _) | Seek::Nan(pos) | Seek::NotFound(pos) => pos.clone(),
            Seek::Step(_) => Pos::default(),
        };
        let latest = history.before(&pos).unwrap_or(0);
        let first = first_pos(&history);
        let mut at = latest;
        lane.mode = match seek {
            Seek::Last(what, before) => Mode::Search { what, before, found: None },
            Seek::Found { found: Some(found), what, .. } => {
                let text = match what {
                    What::Op => "at the op before",
                    What::Line => "at the line before",
                    What::Breakpoint => "at a breakpoint, going back",
                };
                at = history.before(&found).unwrap_or(0);
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
                at = history.snapshots.iter().rposition(is_before).unwrap_or(0);
                Mode::ToStep(step)
            }
            Seek::Nan(until) => {
                let clean = history.snapshots.iter().take(latest + 1).rposition(|s| s.is_clean);
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
        let Some(snapshot) = history.snapshots.get(at) else {
            return Err(fluvial_core::Error::state("there is nothing to go back to"));
        };
        let run = snapshot.pos.run();
        let trips = (snapshot.trips.clone(), snapshot.steps);
        let from = From { run, start: snapshot.start.clone(), trips };
        if let Some(run) = history.run(run) {
            snapshot.restore(run.executor.state())?;
        }
        Ok(from)
    }

    /// After a run has ended: what to run next, or nothing if it was the one that is wanted.
    fn after(&self, run: u64, values: &[Value]) -> Option<Seek> {
        let is_due = self.lane.history().is_due();
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
            Mode::Search { .. } | Mode::Hunt { .. } | Mode::SeekTo { .. } => return None,
            Mode::Free | Mode::Finish { .. } | Mode::Collect { .. } => return None,
            _ => {}
        }
        let watches_nan = on_fault(&self.shared.control().points, Fault::Nan).is_some();
        let is_small =
            |value: &&Value| is_due || value.tensor().is_ok_and(|tensor| tensor.numel() <= SMALL);
        let in_states = || {
            let cells = lane.state.as_ref().map(State::cells).unwrap_or_default();
            let values = cells.values().filter_map(|cell| cell.get()?.value().ok().cloned());
            values.into_iter().any(|value| has_nan(&value))
        };
        let found =
            watches_nan && (values.iter().filter(is_small).any(has_nan) || is_due && in_states());
        let is_known = lane.knows_nan(&end);
        if found && !is_known {
            lane.nan_told = Some(end.clone());
            return Some(Seek::Nan(end));
        }
        if is_known && !found && is_due {
            lane.nan_told = None;
        }
        None
    }

    fn run(&self, inner: &mut Inner, job: &Job<'_>, from: Option<From>) -> Result<Ended> {
        let mut from = match from {
            Some(from) => from,
            None => self.begin(inner, job)?,
        };
        loop {
            let run = from.run;
            let ended_by = self.stretch(inner, from, job);
            let (seek, left_for, trips, next, cut) = {
                let mut lane = self.lane.inner();
                let cut = std::mem::take(&mut lane.cuts).then(|| lane.stack.pos());
                let left_for = lane.left_for.take();
                let (trips, next) = lane.left_at();
                (lane.rewind.take(), left_for, trips, next, cut)
            };
            if let Some(pos) = cut {
                self.lane.history().cut(&pos);
            }
            if let Some(seek) = seek {
                from = self.seek(seek)?;
                continue;
            }
            match ended_by? {
                Ended::Suspended(suspension) => {
                    if suspension.is_stop {
                        return Ok(Ended::Suspended(suspension));
                    }
                    match left_for {
                        Some(LeftFor::Quit) => return Err(ended()),
                        Some(LeftFor::Snapshot) => {}
                        Some(LeftFor::Host) => {
                            inner.suspended = Some((run, trips));
                            return Ok(Ended::Suspended(suspension));
                        }
                        Some(LeftFor::HandBack) | None => {
                            return self.leave(inner, run, suspension, job);
                        }
                    }
                    let (start, state) = (Start::Suspension(suspension), job.executor.state());
                    self.lane.history().take(next, start.clone(), trips.clone(), state)?;
                    from = From { run, start, trips };
                }
                Ended::Done(values) => {
                    if let Some(seek) = self.after(run, &values) {
                        from = self.seek(seek)?;
                        continue;
                    }
                    if run >= inner.n_runs {
                        return Ok(Ended::Done(values));
                    }
                    let history = self.lane.history();
                    let Some(next) = history.run(run + 1) else { return Err(forgotten()) };
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
            let runs = {
                let history = self.lane.history();
                history.run(number).cloned().zip(history.run(number + 1).cloned())
            };
            let Some((run, next)) = runs else { return Err(forgotten()) };
            run.executor.stretch(&run.plan, start, None, &|_| false)?;
            start = next.start;
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
        let (track, around) = self.track();
        let is_replay = around.iter().any(|track| track.lane.inner().is_replay);
        let mut inner = match track.inner.try_lock() {
            Ok(inner) if !is_replay => inner,
            Err(TryLockError::Poisoned(poisoned)) if !is_replay => poisoned.into_inner(),
            // What runs inside of something that is run again has been seen before.
            _ => return job.executor.stretch(&job.plan, job.start, job.observer, job.wanted),
        };
        let number = track.lane.thread;
        if let Some(thread) = self.shared.control().threads.get_mut(&number) {
            (thread.is_running, thread.quits) = (true, false);
        }
        let done = track.run(&mut inner, &job, None);
        fluvial_ops::mute_prints(false);
        inner.versions = Some(versions(job.executor.state()));
        let mut control = self.shared.control();
        if let Some(thread) = control.threads.get_mut(&number) {
            (thread.stop, thread.asks) = (None, None);
            (thread.is_running, thread.quits) = (false, false);
        }
        done
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn answers(&self, step: &Step<'_>) -> Option<Values> {
        self.lane.answers(step)
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
                settle(point, &places);
                let now = super::verdict_of(point, &programs);
                if point.verdict.as_ref() != Some(&now) {
                    point.verdict = Some(now.clone());
                    verdicts.push(now);
                }
            }
        }
        self.changed();
        verdicts.into_iter().for_each(|verdict| self.emit(&Event::Breakpoint(verdict)));
    }
}
