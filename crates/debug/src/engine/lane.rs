//! The program's side: told of every step, it decides where to stop.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fluvial_core::{Call, Error, ErrorKind, Result, State, Value};
use fluvial_runtime::{Live, Observer, PARTS, Step, Trip};

use super::blocks::{each_part, is_step};
use super::halt::{Paused, Why};
use super::history::has_nan;
use super::loss::{Losses, number};
use super::mode::{Mode, Passed, Seek, What};
use super::points::on_fault;
use super::pos::Pos;
use super::shared::{Edited, Shared};
use super::stack::Stack;
use crate::target::{Event, Fault, Reason};

/// An observer of the runs of one thread at a time.
pub struct Lane {
    pub shared: Arc<Shared>,
    inner: Mutex<Inner>,
}

/// What changes while a run goes on.
#[derive(Default)]
pub struct Inner {
    pub stack: Stack,
    pub mode: Mode,
    /// Where to go instead, after the run was left.
    pub rewind: Option<Seek>,
    /// The furthest that the run has been.
    pub frontier: Pos,
    /// The snapshot from which was searched last.
    pub searched: Option<usize>,
    /// Whether a part of the run is run again.
    pub is_replay: bool,
    /// Whether there is something to go back to.
    pub can_go_back: bool,
    /// Where the run was left, on the way out of which its blocks are forgotten.
    marked: Option<((Vec<u64>, u64), Pos)>,
    /// Whether the run was left for a snapshot.
    pub wants_snapshot: bool,
    /// The line of the step before.
    pub last: Option<Passed>,
    /// Whether NaN has been told of already.
    pub knows_nan: bool,
    /// Whether a failure has been told of already.
    pub knows_failure: bool,
    /// Whether the calls that the step was made of are about to be run.
    pub is_opening: bool,
    /// Whether values inside of an op that is run call by call were set.
    pub is_edited: bool,
    /// Whether values were set.
    pub has_edits: bool,
    /// Whether what comes after is another future than the one that was kept.
    pub cuts: bool,
    /// Positions at which ops gave other bits than their calls, and what was said of it.
    pub differences: Vec<(Pos, String)>,
    pub losses: Losses,
    /// The states of the program.
    pub state: Option<State>,
    progress: Option<Instant>,
}

/// How often the progress is told of.
const PROGRESS: Duration = Duration::from_millis(250);
/// Carried values up to this many elements are looked at before each trip.
const SMALL: usize = 64;

impl Lane {
    pub fn new(shared: Arc<Shared>) -> Lane {
        Lane { shared, inner: Mutex::default() }
    }

    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asked before each trip of a loop: whether the run is to be left there. `is_due` says whether it is time for
    /// a snapshot.
    pub fn before_trip(&self, trip: &Trip<'_>, is_due: &dyn Fn() -> bool) -> bool {
        let mut inner = self.inner();
        let leaving = self.shared.control().leaving;
        if leaving.is_some() {
            inner.mode = Mode::Free;
            return true;
        }
        // What the trip before has left behind is over.
        inner.stack.levels.truncate(trip.step.depth + 1);
        let next = inner.stack.next_trip();
        inner.pass(&next, false);
        if matches!(inner.mode, Mode::Search { .. } | Mode::SeekTo { .. } | Mode::Hunt { .. }) {
            return false;
        }
        let is_due = is_due();
        let watches_nan = on_fault(&self.shared.control().points, Fault::Nan).is_some();
        if watches_nan {
            let is_small = |value: &&Value| {
                is_due || value.tensor().is_ok_and(|tensor| tensor.numel() <= SMALL)
            };
            let found = trip.args.iter().filter(is_small).any(has_nan);
            if found && !inner.knows_nan && inner.can_go_back {
                inner.knows_nan = true;
                inner.rewind = Some(Seek::Nan(next));
                return true;
            }
            inner.knows_nan &= found || !is_due;
        }
        if !inner.is_replay && inner.progress.is_none_or(|last| last.elapsed() >= PROGRESS) {
            inner.progress = Some(Instant::now());
            let (step, text) = (inner.stack.step(), inner.losses.text());
            self.shared.emit(&Event::Progress { step, of: None, text });
        }
        inner.wants_snapshot = is_due;
        is_due
    }

    fn stop(
        &self,
        inner: &mut Inner,
        step: &Step<'_>,
        live: &mut Live<'_>,
        outputs: Option<&mut [Value]>,
        why: Why,
    ) -> Result<()> {
        Paused { shared: &self.shared, inner, step, live, outputs }.halt(why)
    }
}

impl Inner {
    /// Notes where the run is left, before the next trip of the innermost loop.
    pub fn mark(&mut self) {
        let trips = (self.stack.trips(), self.stack.steps_before());
        self.marked = Some((trips, self.stack.next_trip()));
    }

    /// Where the run was left: the trips of its loops and steps so far, and the next trip.
    pub fn left_at(&mut self) -> ((Vec<u64>, u64), Pos) {
        if self.marked.is_none() {
            self.mark();
        }
        self.marked.take().unwrap_or_default()
    }

    /// Notes how far the run has come. A step that it was stopped at before has not run yet.
    fn pass(&mut self, pos: &Pos, is_step: bool) {
        if *pos > self.frontier || is_step && *pos == self.frontier {
            self.is_replay = false;
            self.frontier = pos.clone();
            fluvial_ops::mute_prints(false);
        }
    }

    fn passed(&self, step: &Step<'_>) -> Passed {
        let levels = &self.stack.levels;
        let nested = levels.len().saturating_sub(1);
        let visits = levels[..nested].iter().filter(|level| level.entered != PARTS);
        Passed {
            loc: step.loc,
            depth: self.stack.depth(),
            visits: visits.map(|level| level.visit).collect(),
        }
    }

    /// Whether the way of going on stops at a step.
    fn arrives(&mut self, step: &Step<'_>, pos: &Pos, now: &Passed) -> Option<Why> {
        let is_new_line = self.last.as_ref().is_none_or(|last| !last.is_same_line(now));
        let step_done = |text: &str| Some(Why::new(Reason::Step, text, None));
        match &self.mode {
            Mode::Entry => Some(Why::new(Reason::Entry, "at the first op", None)),
            Mode::NextOp => step_done("at the next op"),
            Mode::NextLine { depth }
                if is_new_line && now.depth <= *depth && step.loc.is_known() =>
            {
                step_done("at the next line")
            }
            // The next line of one that begins a loop or a branch is the first one in it.
            Mode::NextLine { depth } if now.depth == *depth && !step.op.blocks().is_empty() => {
                self.mode = Mode::NextLine { depth: depth + 1 };
                None
            }
            Mode::OutOfLayer { layer, phase } => {
                let here = step.loc.layer();
                let is_inside = match (layer, &here) {
                    (Some(layer), Some(here)) => {
                        here == layer
                            || here.strip_prefix(&**layer).is_some_and(|rest| rest.starts_with('.'))
                    }
                    (None, _) => true,
                    (Some(_), None) => false,
                };
                let is_out = !is_inside || step.loc.phase() != *phase;
                if is_out { step_done("out of the layer") } else { None }
            }
            Mode::NextIteration { depth, visit, run } => {
                let level = self.stack.levels.get(*depth);
                let is_same = self.stack.run == *run
                    && self.stack.levels.len() > depth + 1
                    && level.is_some_and(|level| level.visit == *visit);
                if is_same { None } else { step_done("at the next iteration") }
            }
            Mode::ToStep(wanted) if self.stack.is_in_step(*wanted) => {
                Some(Why::new(Reason::Goto, format!("at step {wanted}"), None))
            }
            Mode::SeekTo { pos: wanted, why } if pos >= wanted => Some(why.clone()),
            _ => None,
        }
    }
}

impl Observer for Lane {
    fn reach(&self, step: &Step<'_>, live: &mut Live<'_>) -> Result<()> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.stack.arrive(step, &self.shared);
        let call = step.block.calls.get(step.index);
        let may_open = inner.mode != Mode::Run
            || inner.is_replay
            || inner.stack.at().is_some_and(|at| at.opens);
        let opens = may_open && call.is_some_and(|call| self.will_open(inner, call));
        inner.is_opening = opens;
        if opens || !step.op.blocks().is_empty() {
            inner.stack.keep(step, live);
        }
        let is_quiet = !call.is_some_and(is_step);
        if step.is_resumed || is_quiet || inner.mode == Mode::Free {
            return Ok(());
        }
        let is_armed = inner.mode != Mode::Run
            || inner.is_replay
            || inner.stack.at().is_some_and(|at| !at.before.is_empty())
            || self.shared.pause.load(Ordering::Relaxed);
        if !is_armed {
            // Whether a line is entered is asked of the next one.
            if !opens {
                inner.last = Some(inner.passed(step));
            }
            return Ok(());
        }
        let pos = inner.stack.pos();
        inner.pass(&pos, true);
        self.edit(inner, &pos, live, None)?;
        let now = inner.passed(step);
        let is_new_line = inner.last.as_ref().is_none_or(|last| !last.is_same_line(&now));
        if let Mode::Search { what, before, found } = inner.mode.clone() {
            if pos >= before {
                inner.rewind = Some(Seek::Found { what, before, found });
                return Err(left());
            }
            if opens {
                return Ok(());
            }
            let is_found = match what {
                What::Op => true,
                What::Line => is_new_line && step.loc.is_known(),
                What::Breakpoint => self.meets(inner, step, live, is_new_line, true).is_some(),
            };
            if is_found {
                inner.mode = Mode::Search { what, before, found: Some(pos) };
            }
            inner.last = Some(now);
            return Ok(());
        }
        match &inner.mode {
            Mode::Hunt { until, is_excused: false } if pos >= *until => {
                inner.rewind = Some(Seek::NotFound(until.clone()));
                return Err(left());
            }
            // The run is where it was.
            Mode::Hunt { until, .. } if pos >= *until => inner.mode = Mode::Run,
            Mode::Hunt { .. } => {
                if !opens {
                    inner.last = Some(now);
                }
                return Ok(());
            }
            _ => {}
        }
        let is_seek = matches!(inner.mode, Mode::SeekTo { .. });
        // The calls that it was made of are reached one by one.
        if opens && !(is_seek && inner.arrives(step, &pos, &now).is_some()) {
            return Ok(());
        }
        let mut why = inner.arrives(step, &pos, &now);
        // Who goes to a step of the loop wants to be there; log points are written on the way.
        let hit = if is_seek { None } else { self.meets(inner, step, live, is_new_line, false) };
        if hit.is_some() && !matches!(inner.mode, Mode::ToStep(_)) {
            why = hit;
        }
        if self.shared.pause.swap(false, Ordering::Relaxed) {
            why = why.or_else(|| Some(Why::new(Reason::Pause, "as you asked", None)));
        }
        inner.last = Some(now);
        match why {
            Some(why) => self.stop(inner, step, live, None, why),
            None => Ok(()),
        }
    }

    fn opens(&self, _: &Step<'_>) -> bool {
        std::mem::take(&mut self.inner().is_opening)
    }

    fn holds(&self, _: &Step<'_>) -> bool {
        let inner = self.inner();
        let is_watched =
            || inner.stack.at().is_some_and(|at| !at.after.is_empty() || at.watches_infinity);
        match inner.mode {
            Mode::Free => false,
            Mode::Run => is_watched(),
            _ => true,
        }
    }

    fn compare(&self, step: &Step<'_>, parts: &[Value], whole: &[Value]) -> Result<bool> {
        let mut inner = self.inner();
        if std::mem::take(&mut inner.is_edited) {
            return Ok(true);
        }
        let is_same = parts.iter().zip(whole).all(|(part, whole)| part.bitwise_eq(whole));
        if !is_same {
            let text = format!(
                "`{}` gives other bits than its calls one by one{}",
                step.op.name(),
                super::halt::difference(parts, whole)
            );
            let is_new = !inner.differences.iter().any(|(_, known)| *known == text);
            inner.differences.truncate(100);
            let pos = inner.stack.pos();
            inner.differences.insert(0, (pos, text.clone()));
            if is_new {
                self.shared.note(text, step.loc);
            }
        }
        Ok(false)
    }

    fn ran(&self, step: &Step<'_>, live: &mut Live<'_>, outputs: &mut [Value]) -> Result<()> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.stack.levels.truncate(step.depth + 1);
        if inner.mode == Mode::Free {
            return Ok(());
        }
        let at = inner.stack.at();
        let watches_infinity =
            at.is_some_and(|at| at.watches_infinity) || matches!(inner.mode, Mode::Hunt { .. });
        let loss = at.and_then(|at| at.loss);
        let is_armed = watches_infinity
            || loss.is_some()
            || inner.is_replay
            || inner.has_edits
            || at.is_some_and(|at| !at.after.is_empty())
            || matches!(inner.mode, Mode::SeekTo { .. });
        if !is_armed {
            return Ok(());
        }
        let pos = inner.stack.pos().after();
        self.edit(inner, &pos, live, Some(&mut *outputs))?;
        if let Mode::SeekTo { pos: wanted, why } = &inner.mode {
            // A step that was a stop when it had run is one again then.
            if wanted.is_after() && pos >= *wanted {
                let why = why.clone();
                return self.stop(inner, step, live, Some(outputs), why);
            }
            return Ok(());
        }
        if matches!(inner.mode, Mode::Search { .. }) {
            return Ok(());
        }
        let mut passes = false;
        let fault = match watches_infinity {
            true => self.fault(inner, step, live, outputs, &mut passes),
            false => None,
        };
        if let Mode::Hunt { is_excused, .. } = &mut inner.mode {
            *is_excused |= passes;
        }
        if let Some(why) = fault {
            inner.knows_nan |= why.reason == Reason::Exception(Fault::Nan);
            return self.stop(inner, step, live, Some(outputs), why);
        }
        if matches!(inner.mode, Mode::Hunt { .. }) {
            return Ok(());
        }
        if let Some(why) = self.changes(inner, step, live, outputs) {
            return self.stop(inner, step, live, Some(outputs), why);
        }
        let loss = loss.and_then(|k| number(outputs.get(k)?)).filter(|_| !inner.is_replay);
        if let Some(text) = loss.and_then(|loss| inner.losses.add(loss)) {
            let control = self.shared.control();
            let point = on_fault(&control.points, Fault::LossSpike);
            let id = point.and_then(|k| control.points.get(k)).map(|point| point.spec.id);
            drop(control);
            if id.is_some() {
                let why = Why::new(Reason::Exception(Fault::LossSpike), text, id);
                return self.stop(inner, step, live, Some(outputs), why);
            }
        }
        Ok(())
    }

    fn failed(&self, step: &Step<'_>, live: &mut Live<'_>, error: &Error) -> Result<()> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.stack.levels.truncate(step.depth + 1);
        let is_ours = error.kind() == ErrorKind::Interrupted || inner.rewind.is_some();
        let is_quiet = matches!(inner.mode, Mode::Free | Mode::Search { .. } | Mode::Hunt { .. });
        if is_ours || is_quiet || std::mem::replace(&mut inner.knows_failure, true) {
            return Ok(());
        }
        let control = self.shared.control();
        let point = on_fault(&control.points, Fault::Error).and_then(|k| control.points.get(k));
        let Some(id) = point.map(|point| point.spec.id) else { return Ok(()) };
        drop(control);
        let why = Why::new(Reason::Exception(Fault::Error), error.to_string(), id);
        self.stop(inner, step, live, None, why)
    }

    fn enter(&self, step: &Step<'_>, block: usize, _: &[&Value]) -> Result<()> {
        self.inner().stack.enter(step, block);
        Ok(())
    }
}

impl Lane {
    /// Whether the calls that a step was made of are to be run one by one.
    fn will_open(&self, inner: &Inner, call: &Call) -> bool {
        if call.twin.is_none() || inner.mode == Mode::Free {
            return false;
        }
        let pos = inner.stack.pos();
        let has_edit = || self.shared.control().edits.iter().any(|edit| pos.contains(&edit.pos));
        match &inner.mode {
            Mode::NextOp | Mode::Hunt { .. } | Mode::Entry => true,
            Mode::Search { what: What::Op | What::Line, .. } => true,
            Mode::NextLine { .. } => {
                let mut is_other = false;
                each_part(call, &mut |part| is_other |= part.loc.line() != call.loc.line());
                is_other || has_edit()
            }
            Mode::OutOfLayer { .. } => {
                let mut is_other = false;
                each_part(call, &mut |part| is_other |= part.loc.layer() != call.loc.layer());
                is_other || has_edit()
            }
            Mode::Search { before, .. } if pos.contains(before) => true,
            Mode::SeekTo { pos: wanted, .. } => pos.contains(wanted) || has_edit(),
            _ => inner.stack.at().is_some_and(|at| at.opens) || inner.is_replay && has_edit(),
        }
    }

    /// Makes edits that were made here before, when a part of the run is run again.
    fn edit(
        &self,
        inner: &mut Inner,
        pos: &Pos,
        live: &mut Live<'_>,
        outputs: Option<&mut [Value]>,
    ) -> Result<()> {
        let edits: Vec<Edited> = {
            let control = self.shared.control();
            let here = control.edits.iter().filter(|edit| edit.pos == *pos);
            here.map(|edit| edit.what.clone()).collect()
        };
        if edits.is_empty() {
            return Ok(());
        }
        inner.note_edit();
        let mut outputs = outputs;
        for edit in edits {
            match edit {
                Edited::Value(id, value) => live.set(id, value)?,
                Edited::Output(k, value) => {
                    if let Some(output) = outputs.as_mut().and_then(|outputs| outputs.get_mut(k)) {
                        *output = value;
                    }
                }
                Edited::State(name, value) => inner.set_state(&name, value)?,
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Notes that values inside of an op that is run call by call are others now.
    pub fn note_edit(&mut self) {
        let nested = self.stack.levels.len().saturating_sub(1);
        self.is_edited |= self.stack.levels[..nested].iter().any(|level| level.entered == PARTS);
    }

    /// Gives a state of the program another value.
    pub fn set_state(&self, name: &str, value: Value) -> Result<()> {
        match &self.state {
            Some(state) => state.assign(name, value),
            None => Err(Error::state("the program has no states")),
        }
    }
}

/// What a run is left with.
pub fn left() -> Error {
    Error::new(ErrorKind::Interrupted, "the debugger goes elsewhere")
}

/// What a run is ended with.
pub fn ended() -> Error {
    Error::new(ErrorKind::Interrupted, "the run was ended by the debugger")
}
