//! The program's side: told of every step, it decides where to stop.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fluvial_core::{Error, ErrorKind, Loc, Phase, Result, State, Value};
use fluvial_runtime::{Live, Observer, PARTS, Step, Trip};
use smallvec::SmallVec;

use super::blocks::each_part;
use super::halt::{Paused, Why};
use super::history::{has_infinity, has_nan};
use super::loss::{Losses, number};
use super::points::{is_layer, on_fault};
use super::pos::Pos;
use super::shared::{Edited, Shared, place};
use super::stack::Stack;
use super::view::View;
use crate::inspect;
use crate::target::{Event, Fault, On, Output, Reason};

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
    /// Whether the run was left for a snapshot.
    pub wants_snapshot: bool,
    /// The line of the step before.
    pub last: Option<Passed>,
    /// Whether NaN has been told of already.
    pub knows_nan: bool,
    /// Whether a failure has been told of already.
    pub knows_failure: bool,
    /// Whether values inside of an op that is run call by call were set.
    pub is_edited: bool,
    /// Whether what comes after is another future than the one that was kept.
    pub cuts: bool,
    /// Positions at which ops gave other bits than their calls, and what was said of it.
    pub differences: Vec<(Pos, String)>,
    pub losses: Losses,
    /// The states of the program.
    pub state: Option<State>,
    progress: Option<Instant>,
}

/// The step before, as far as it decides whether a line or a layer is entered.
#[derive(Clone, PartialEq)]
pub struct Passed {
    pub loc: Loc,
    pub depth: usize,
    pub visits: SmallVec<[u64; 4]>,
}

impl Passed {
    fn is_same_line(&self, other: &Passed) -> bool {
        self.loc.line() == other.loc.line()
            && self.loc.phase() == other.loc.phase()
            && self.loc.file() == other.loc.file()
            && self.loc.layer() == other.loc.layer()
            && self.depth == other.depth
            && self.visits == other.visits
    }
}

/// How the program goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    /// To the next breakpoint.
    #[default]
    Run,
    /// To the first op.
    Entry,
    NextOp,
    NextLine {
        depth: usize,
    },
    OutOfLayer {
        layer: Option<Arc<str>>,
        phase: Phase,
    },
    NextIteration {
        /// The loop and its trip.
        depth: usize,
        visit: u64,
        run: u64,
    },
    ToStep(u64),
    /// Looks for the last point before another one.
    Search {
        what: What,
        before: Pos,
        found: Option<Pos>,
    },
    /// To this point, past all breakpoints.
    SeekTo {
        pos: Pos,
        why: Why,
    },
    /// To the first op that makes NaN, up to this point.
    Hunt {
        until: Pos,
    },
    /// Nobody debugs any more.
    Free,
}

/// What is looked for on the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Op,
    Line,
    Breakpoint,
}

/// Where to go, from a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Seek {
    /// To the last point of a kind before another one.
    Last(What, Pos),
    /// What a search from this snapshot has found.
    Found { what: What, before: Pos, found: Option<Pos> },
    /// To a point.
    To(Pos, Why),
    /// To where NaN comes from that was seen at this point.
    Nan(Pos),
    /// A hunt has found nothing.
    NotFound(Pos),
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
        let next = inner.stack.next_trip();
        inner.pass(&next);
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

    /// Whether some breakpoints that are met before a step stop it. Log points are written.
    fn meets(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        is_new_line: bool,
        is_search: bool,
    ) -> Option<Why> {
        let at = inner.stack.at().filter(|at| !at.before.is_empty())?;
        let view = View { inner, step, live, outputs: None, watched: None };
        let mut hit: Option<Why> = None;
        let mut control = self.shared.control();
        for &k in &at.before {
            let Some(point) = control.points.get_mut(k) else { continue };
            let (enters, reason, text) = match &point.spec.on {
                On::Line { .. } => (is_new_line, Reason::Breakpoint, "at a breakpoint".to_string()),
                On::Name(name) => {
                    let enters = enters_layer(name, step, inner.last.as_ref());
                    (enters, Reason::Function, format!("at `{name}`"))
                }
                _ => (true, Reason::Breakpoint, "at a breakpoint".to_string()),
            };
            if !enters || is_search && point.log.is_some() {
                continue;
            }
            let mut why = Why::new(reason, text, point.spec.id);
            match point.is_due(&view) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    why.text = format!("its condition cannot be told: {}", error.message())
                }
            }
            if let Some(log) = &point.log {
                if !inner.is_replay {
                    let (text, place) = (log.render(&view), place(step.loc));
                    self.shared.emit(&Event::Output { text, kind: Output::Log, place });
                }
                continue;
            }
            match &mut hit {
                Some(hit) => hit.breakpoints.extend(why.breakpoints),
                None => hit = Some(why),
            }
        }
        hit
    }

    /// Whether values that are watched have changed.
    fn changes(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        outputs: &[Value],
    ) -> Option<Why> {
        let at = inner.stack.at().filter(|at| !at.after.is_empty())?;
        let view = View { inner, step, live, outputs: Some(outputs), watched: None };
        let mut hit: Option<Why> = None;
        let mut control = self.shared.control();
        for &k in &at.after {
            let Some(point) = control.points.get_mut(k) else { continue };
            let On::Change(name) = point.spec.on.clone() else { continue };
            let Some(now) = view.output_named(&name) else { continue };
            let hash = inspect::hash(&now);
            let was = point.last.replace(hash);
            let was = was.or_else(|| view.before(&name).as_ref().map(inspect::hash));
            if was.is_none_or(|was| was == hash) {
                continue;
            }
            let context = View { watched: Some(&now), ..view };
            if !point.is_due(&context).unwrap_or(true) {
                continue;
            }
            if let Some(log) = &point.log {
                let (text, place) = (log.render(&context), place(step.loc));
                self.shared.emit(&Event::Output { text, kind: Output::Log, place });
                continue;
            }
            let text = format!("`{name}` has changed to {}", inspect::line(&now));
            hit = Some(Why::new(Reason::Data, text, point.spec.id));
        }
        hit
    }

    /// Whether the outputs have a fault that the inputs do not have.
    fn fault(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        outputs: &[Value],
    ) -> Option<Why> {
        let is_hunt = matches!(inner.mode, Mode::Hunt { .. });
        let call = step.block.calls.get(step.index)?;
        if call.inputs.is_empty() || !call.op.blocks().is_empty() || call.twin.is_some() && is_hunt
        {
            return None;
        }
        let control = self.shared.control();
        let infinity = on_fault(&control.points, Fault::Infinity);
        let nan = on_fault(&control.points, Fault::Nan).filter(|_| is_hunt || infinity.is_some());
        let ids = |k: usize| control.points.get(k).map_or(0, |point| point.spec.id);
        let inputs = || call.inputs.iter().filter_map(|&id| live.get(id));
        let kinds: [(Option<usize>, Fault, &dyn Fn(&Value) -> bool); 2] =
            [(nan, Fault::Nan, &has_nan), (infinity, Fault::Infinity, &has_infinity)];
        for (point, fault, has) in kinds {
            let Some(k) = point else { continue };
            if outputs.iter().any(has) && !inputs().any(has) {
                let what = if fault == Fault::Nan { "NaN" } else { "infinity" };
                let text =
                    format!("`{}` gave {what}, and none of its inputs has it", step.op.name());
                return Some(Why::new(Reason::Exception(fault), text, ids(k)));
            }
        }
        None
    }
}

impl Inner {
    /// Notes how far the run has come.
    fn pass(&mut self, pos: &Pos) {
        if *pos > self.frontier {
            self.is_replay = false;
            self.frontier = pos.clone();
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
            Mode::ToStep(wanted) if self.stack.step() >= *wanted && !self.stack.is_outside() => {
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
        let has_blocks = !step.op.blocks().is_empty();
        if has_blocks {
            inner.stack.keep(step, live);
        }
        if step.is_resumed || inner.mode == Mode::Free {
            return Ok(());
        }
        let is_armed = inner.mode != Mode::Run
            || inner.is_replay
            || inner.stack.at().is_some_and(|at| !at.before.is_empty())
            || self.shared.pause.load(Ordering::Relaxed);
        if !is_armed {
            // Whether a line is entered is asked of the next one.
            inner.last = Some(inner.passed(step));
            return Ok(());
        }
        let pos = inner.stack.pos();
        inner.pass(&pos);
        self.edit(inner, &pos, live, None)?;
        let now = inner.passed(step);
        let is_new_line = inner.last.as_ref().is_none_or(|last| !last.is_same_line(&now));
        if let Mode::Search { what, before, found } = inner.mode.clone() {
            if pos >= before {
                inner.rewind = Some(Seek::Found { what, before, found });
                return Err(left());
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
        if let Mode::Hunt { until } = &inner.mode {
            if pos >= *until {
                inner.rewind = Some(Seek::NotFound(until.clone()));
                return Err(left());
            }
            inner.last = Some(now);
            return Ok(());
        }
        let is_seek = matches!(inner.mode, Mode::SeekTo { .. });
        let mut why = inner.arrives(step, &pos, &now);
        if !is_seek && let Some(hit) = self.meets(inner, step, live, is_new_line, false) {
            why = Some(hit);
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

    fn opens(&self, step: &Step<'_>) -> bool {
        let inner = self.inner();
        let Some(call) = step.block.calls.get(step.index) else { return false };
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
                each_part(call, &mut |part| is_other |= part.loc.line() != step.loc.line());
                is_other || has_edit()
            }
            Mode::OutOfLayer { .. } => {
                let mut is_other = false;
                each_part(call, &mut |part| is_other |= part.loc.layer() != step.loc.layer());
                is_other || has_edit()
            }
            Mode::Search { before, .. } if pos.contains(before) => true,
            Mode::SeekTo { pos: wanted, .. } => pos.contains(wanted) || has_edit(),
            _ => inner.stack.at().is_some_and(|at| at.opens) || inner.is_replay && has_edit(),
        }
    }

    fn holds(&self, _: &Step<'_>) -> bool {
        let inner = self.inner();
        let is_watched = || inner.stack.at().is_some_and(|at| !at.after.is_empty());
        let watches_infinity =
            || on_fault(&self.shared.control().points, Fault::Infinity).is_some();
        match inner.mode {
            Mode::Free => false,
            Mode::Run => is_watched() || watches_infinity(),
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
        if watches_infinity && let Some(why) = self.fault(inner, step, live, outputs) {
            return self.stop(inner, step, live, Some(outputs), why);
        }
        if matches!(inner.mode, Mode::Search { .. } | Mode::Hunt { .. }) {
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

/// Whether a layer is entered, or an op is met, of which the pattern is a name.
fn enters_layer(pattern: &str, step: &Step<'_>, last: Option<&Passed>) -> bool {
    let bare = pattern.split_once(':').map_or(pattern, |(_, bare)| bare).trim();
    let is_in = |loc: Loc| loc.layer().is_some_and(|layer| is_layer(bare, &layer));
    let was_in = |last: &Passed| is_in(last.loc) && last.loc.phase() == step.loc.phase();
    !is_in(step.loc) || super::points::is_like(bare, step.op.name()) || !last.is_some_and(was_in)
}

/// What a run is left with.
pub fn left() -> Error {
    Error::new(ErrorKind::Interrupted, "the debugger goes elsewhere")
}

/// What a run is ended with.
pub fn ended() -> Error {
    Error::new(ErrorKind::Interrupted, "the run was ended by the debugger")
}
