//! The program's side: told of every step, it decides where to stop.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fluvial_core::{Call, Error, ErrorKind, Result, Value, Values};
use fluvial_runtime::{Live, Observer, Step, Trip};

use super::blocks::{each_part, is_outside, is_step};
use super::halt::{Paused, Why};
use super::history::{History, has_nan};
use super::inner::Inner;
use super::loss::number;
use super::mode::{LeftFor, Mode, Seek, What};
use super::points::on_fault;
use super::pos::Pos;
use super::shared::{Edit, Edited, Shared};
use crate::target::{Event, Fault, Reason};

/// An observer of the runs of one thread.
pub struct Lane {
    pub shared: Arc<Shared>,
    /// The number of the thread.
    pub thread: u32,
    pub history: Arc<Mutex<History>>,
    inner: Mutex<Inner>,
}

/// How often the progress is told of.
const PROGRESS: Duration = Duration::from_millis(250);
/// Carried values up to this many elements are looked at before each trip.
pub const SMALL: usize = 64;

impl Lane {
    /// For the thread of that number.
    pub fn new(shared: Arc<Shared>, thread: u32, history: Arc<Mutex<History>>) -> Lane {
        Lane { shared, thread, history, inner: Mutex::default() }
    }

    /// What is kept for the way back.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asked before each trip of a loop: whether the run is to be left there. `is_due` says whether it is time for
    /// a snapshot.
    pub fn before_trip(&self, trip: &Trip<'_>, is_due: &dyn Fn() -> bool) -> bool {
        let mut inner = self.inner();
        let (is_left, quits) = {
            let control = self.shared.control();
            let quits = control.threads.get(&self.thread).is_some_and(|thread| thread.quits);
            (control.open_session() != inner.session, quits)
        };
        if quits {
            inner.left_for = Some(LeftFor::Quit);
            return true;
        }
        // What the trip before has left behind is over.
        inner.stack.levels.truncate(trip.step.depth + 1);
        let next = inner.stack.next_trip();
        if is_left {
            self.free(&mut inner);
        }
        inner.pass(&next, false);
        match &inner.mode {
            Mode::Finish { until } if next <= *until => return false,
            Mode::Finish { .. } => inner.mode = Mode::Free,
            Mode::Collect { .. } => return false,
            _ => {}
        }
        if inner.mode == Mode::Free {
            inner.left_for = Some(LeftFor::HandBack);
            return true;
        }
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
            let is_known = inner.knows_nan(&next);
            if found && !is_known && inner.can_go_back {
                inner.nan_told = Some(next.clone());
                inner.rewind = Some(Seek::Nan(next));
                return true;
            }
            if is_known && !found && is_due {
                inner.nan_told = None;
            }
        }
        if !inner.is_replay && inner.progress.is_none_or(|last| last.elapsed() >= PROGRESS) {
            inner.progress = Some(Instant::now());
            let (step, text) = (inner.stack.step(), inner.losses.text());
            self.shared.emit(&Event::Progress { step, of: None, text });
        }
        if is_due {
            inner.left_for = Some(LeftFor::Snapshot);
        }
        is_due
    }

    /// Nobody debugs this run any more. Edits of what is run again are still to be made.
    pub fn free(&self, inner: &mut Inner) {
        if matches!(inner.mode, Mode::Free | Mode::Finish { .. } | Mode::Collect { .. }) {
            return;
        }
        let last = {
            let control = self.shared.control();
            let own = control.edits.iter().filter(|edit| edit.thread == self.thread);
            own.map(|edit| edit.pos.clone()).max()
        };
        let here = inner.stack.pos();
        let until = last.max(inner.is_replay.then(|| inner.frontier.clone()));
        inner.mode = match until.filter(|until| *until > here) {
            Some(until) => Mode::Finish { until },
            None => Mode::Free,
        };
    }

    fn stop(
        &self,
        inner: &mut Inner,
        step: &Step<'_>,
        live: &mut Live<'_>,
        outputs: Option<&mut [Value]>,
        why: Why,
    ) -> Result<()> {
        Paused { lane: self, shared: &self.shared, inner, step, live, outputs }.halt(why)
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
        if inner.mode == Mode::Free {
            return Ok(());
        }
        if let Mode::Collect { until } = &inner.mode {
            if inner.stack.pos() >= *until {
                inner.rewind = Some(Seek::To(Pos::default(), Why::default()));
                return Err(left());
            }
            inner.collect_params(live);
        }
        let is_quiet = !call.is_some_and(is_step);
        if step.is_resumed || is_quiet {
            return Ok(());
        }
        let is_armed = inner.mode != Mode::Run
            || inner.is_replay
            || inner.stack.at().is_some_and(|at| !at.before.is_empty())
            || self.is_to_pause();
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
        match &inner.mode {
            Mode::Finish { until } if pos <= *until => return Ok(()),
            Mode::Finish { .. } => {
                inner.mode = Mode::Free;
                return Ok(());
            }
            Mode::Collect { .. } => return Ok(()),
            _ => {}
        }
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
        if self.is_to_pause() {
            self.shared.pause.store(false, Ordering::Relaxed);
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
            || inner.stack.at().is_some_and(|at| !at.after.is_empty() || at.watches_ops);
        match inner.mode {
            Mode::Free | Mode::Collect { .. } => false,
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
        let call = step.block.calls.get(step.index);
        if call.is_some_and(is_outside) && !inner.is_replay {
            let pos = inner.stack.pos();
            self.history().note_outside(pos, outputs);
        }
        let at = inner.stack.at();
        let watches_ops =
            at.is_some_and(|at| at.watches_ops) || matches!(inner.mode, Mode::Hunt { .. });
        let loss = at.and_then(|at| at.loss);
        let is_armed = watches_ops
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
        if matches!(inner.mode, Mode::Collect { .. }) {
            inner.collect_outputs(step, outputs);
            return Ok(());
        }
        if matches!(inner.mode, Mode::Finish { .. }) {
            return Ok(());
        }
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
        let fault = match watches_ops {
            true => self.fault(inner, step, live, outputs, &mut passes),
            false => None,
        };
        if let Mode::Hunt { is_excused, .. } = &mut inner.mode {
            *is_excused |= passes;
        }
        if let Some(why) = fault {
            if why.reason == Reason::Exception(Fault::Nan) {
                inner.nan_told = Some(pos);
            }
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
        let is_quiet = matches!(
            inner.mode,
            Mode::Free
                | Mode::Finish { .. }
                | Mode::Collect { .. }
                | Mode::Search { .. }
                | Mode::Hunt { .. }
        );
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

    fn answers(&self, step: &Step<'_>) -> Option<Values> {
        let call = step.block.calls.get(step.index).filter(|call| is_outside(call))?;
        let inner = self.inner();
        let is_again = inner.is_replay && call.n_outputs == step.types.len();
        is_again.then(|| self.history().outside(&inner.stack.pos()))?
    }
}

impl Lane {
    /// Whether somebody wants this thread to pause.
    fn is_to_pause(&self) -> bool {
        self.shared.pause.load(Ordering::Relaxed) && self.shared.control().is_to_pause(self.thread)
    }

    /// Whether the calls that a step was made of are to be run one by one.
    fn will_open(&self, inner: &Inner, call: &Call) -> bool {
        if call.twin.is_none() || inner.mode == Mode::Free {
            return false;
        }
        let pos = inner.stack.pos();
        let has_edit = || {
            let control = self.shared.control();
            let mut own = control.edits.iter().filter(|edit| edit.thread == self.thread);
            own.any(|edit| pos.contains(&edit.pos))
        };
        match &inner.mode {
            Mode::Collect { until } => {
                pos.contains(until) || inner.collected.is_inside(call) || has_edit()
            }
            Mode::Finish { .. } => has_edit(),
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
            let is_here = |edit: &&Edit| edit.thread == self.thread && edit.pos == *pos;
            let here = control.edits.iter().filter(is_here);
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

/// What a run is left with.
pub fn left() -> Error {
    Error::new(ErrorKind::Interrupted, "the debugger goes elsewhere")
}

/// What a run is ended with.
pub fn ended() -> Error {
    Error::new(ErrorKind::Interrupted, "the run was ended by the debugger")
}
