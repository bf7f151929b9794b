//! Suspending a run between the trips of its loops, and taking it up again.
//!
//! A run that is to be suspended ends like a failed one; on the way out each block leaves what it would need to
//! go on. So nothing of it costs anything while a run goes on.

use std::cell::RefCell;
use std::sync::Arc;

use fluvial_core::tasks::{self, Standing};
use fluvial_core::{
    Channel, Error, ErrorKind, Result, Sizes, State, Told, Value, ValueId, Values, interrupt,
};

use super::{Frame, Kind, Plan};
use crate::attach;
use crate::observe::Step;

/// Where a run was suspended: the blocks that were under way, from the outermost inwards.
#[derive(Clone, Debug, Default)]
pub struct Suspension {
    pub(crate) levels: Vec<Level>,
    /// Whether a stop was asked for, as by Ctrl-C.
    pub is_stop: bool,
    /// Why it was stopped.
    pub(crate) reason: Option<Error>,
    /// Whether somebody wants to conduct the run from here on.
    pub(crate) is_attach: bool,
    /// Where the schedule of its tasks stands, if a seed makes it.
    pub(crate) standing: Option<Standing>,
}

/// A block that was under way.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// The step that was under way, or was about to begin.
    pub step: usize,
    /// The values that later steps need.
    pub values: Vec<(ValueId, Value)>,
    /// Those among them that the states have already.
    pub in_state: Vec<ValueId>,
    /// The sizes that the plan was made for.
    pub known: Sizes,
    /// The sizes that the run has learnt.
    pub sizes: Sizes,
    /// How far the op of the step was, if it was under way.
    pub point: Option<Point>,
    /// The states that the block had assigned, if the run has failed.
    pub noted: Vec<(Arc<str>, Value)>,
}

/// How far an op was that runs blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    /// What a loop needs to go on.
    pub state: Option<Values>,
    /// The arguments of the trip that was about to begin; nothing if a block was under way.
    pub args: Option<Values>,
}

/// A loop that is about to make a trip.
#[derive(Clone, Copy)]
pub struct Trip<'a> {
    /// The step that the loop is.
    pub step: &'a Step<'a>,
    /// How many loops over readers it stands in, itself included.
    pub readers: usize,
    /// The arguments of the trip: what the loop carries, from [`Carries::params`](fluvial_core::Carries) on.
    pub args: &'a [Value],
}

/// What a run asks and leaves when it is suspended.
#[derive(Default)]
pub(crate) struct Pause<'a> {
    /// Asked before each trip of a loop whether to suspend the run.
    pub wanted: Option<&'a dyn Fn(&Trip<'_>) -> bool>,
    may_attach: bool,
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    is_suspending: bool,
    is_stop: bool,
    reason: Option<Error>,
    is_attach: bool,
    standing: Option<Standing>,
    /// From the innermost outwards.
    left: Vec<Level>,
    /// Of the op that has just been left.
    point: Option<Point>,
    /// To be taken up, from the innermost outwards.
    to_resume: Vec<Level>,
}

impl<'a> Pause<'a> {
    /// For a run that may be suspended, and takes up `from` first.
    pub fn new(
        wanted: Option<&'a dyn Fn(&Trip<'_>) -> bool>,
        from: Option<Suspension>,
    ) -> Pause<'a> {
        let standing = from.as_ref().and_then(|from| from.standing);
        let to_resume = from.map_or(Vec::new(), |from| from.levels.into_iter().rev().collect());
        Pause {
            wanted,
            may_attach: false,
            inner: RefCell::new(Inner { to_resume, standing, ..Inner::default() }),
        }
    }

    /// Makes the channels of the run that is taken up anew, as channels of the one that begins here.
    pub fn take_over_channels(&self) -> Result<()> {
        let mut inner = self.inner.borrow_mut();
        if let Some(standing) = inner.standing.take() {
            tasks::go_on_from(standing);
        }
        let mut known: Vec<(Channel, Channel)> = Vec::new();
        for level in &mut inner.to_resume {
            let values = level.values.iter_mut().map(|(_, value)| value);
            let point = level.point.iter_mut().flat_map(|point| {
                point.state.iter_mut().flatten().chain(point.args.iter_mut().flatten())
            });
            for value in values.chain(point) {
                let Value::Channel(old) = value else { continue };
                let new = match known.iter().find(|(other, _)| other.same(old)) {
                    Some((_, new)) => new.clone(),
                    None => {
                        let new = old.contents()?.channel(old.made())?;
                        known.push((old.clone(), new.clone()));
                        new
                    }
                };
                *value = Value::Channel(new);
            }
        }
        Ok(())
    }

    /// Says whether the run is handed over when somebody attaches himself.
    pub fn may_attach(self, may_attach: bool) -> Pause<'a> {
        Pause { may_attach, ..self }
    }

    /// An error if a stop was asked for, before a step of the outermost block.
    pub fn before_step(&self) -> Result<()> {
        interrupt::check().inspect_err(|reason| {
            // What tasks were doing is not known afterwards: it cannot be taken up again.
            if tasks::in_run() && !tasks::is_alone() {
                return;
            }
            let mut inner = self.inner.borrow_mut();
            (inner.is_suspending, inner.is_stop) = (true, true);
            inner.standing = tasks::standing();
            inner.reason = Some(reason.clone());
        })
    }

    /// An error if the run is to be suspended before this trip. The arguments are then kept.
    pub fn before_trip(
        &self,
        step: &Step<'_>,
        readers: usize,
        args: &mut Values,
        state: &dyn Fn() -> Values,
    ) -> Result<()> {
        let trip = Trip { step, readers, args };
        let is_wanted = self.wanted.is_some_and(|wanted| wanted(&trip));
        let stopped = interrupt::before_trip().err();
        let is_attach = self.may_attach && attach::is_attached();
        let is_asked = is_wanted || is_attach || stopped.is_some();
        if is_asked && tasks::in_run() && !tasks::is_alone() {
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
            return Err(Error::argument("a run cannot be suspended while it has other tasks under way")
                .remedy(
                    "wait for the tasks within a trip of the outermost loop, or run it without checkpoints, limits that \
                     suspend it, and the debugger",
                )
                .at(step.loc));
        }
        if stopped.is_none() && !is_wanted && !is_attach {
            return Ok(());
        }
        let mut inner = self.inner.borrow_mut();
        inner.is_suspending = true;
        inner.standing = tasks::standing();
        (inner.is_stop, inner.reason) = (stopped.is_some(), stopped.clone());
        inner.is_attach = is_attach && stopped.is_none() && !is_wanted;
        inner.point = Some(Point { state: Some(state()), args: Some(std::mem::take(args)) });
        Err(stopped.unwrap_or_else(suspended))
    }

    /// Notes that an op is left whose block was under way.
    pub fn in_block(&self, state: Option<&dyn Fn() -> Values>) {
        let mut inner = self.inner.borrow_mut();
        inner.point = Some(Point { state: state.map(|state| state()), args: None });
    }

    /// Notes that a block is left at this step, also if the run has failed: what loops have carried so far is
    /// then saved by it.
    pub(super) fn leave(
        &self,
        step: usize,
        frame: &Frame,
        plan: &Plan,
        sizes: &Sizes,
    ) -> Result<()> {
        let mut inner = self.inner.borrow_mut();
        let point = inner.point.take();
        let mut values = Vec::new();
        for (id, value) in frame.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let kept = match value {
                // It would keep the arena as a whole.
                Value::Tensor(tensor) if tensor.is_placed() && inner.is_suspending => {
                    tensor.copy()?.into()
                }
                Value::Tensor(tensor) if tensor.is_placed() => continue,
                other => other.clone(),
            };
            values.push((id as ValueId, kept));
        }
        let in_state = (0..).zip(&frame.in_state).filter(|(_, is)| **is).map(|(id, _)| id);
        let (known, sizes) = (plan.known.clone(), sizes.clone());
        let in_state = in_state.collect();
        let noted = match inner.is_suspending {
            true => Vec::new(),
            false => plan.notes.at(step, &frame.values)?,
        };
        inner.left.push(Level { step, values, in_state, known, sizes, point, noted });
        Ok(())
    }

    /// What the notes of the blocks that were left say, those of the innermost first.
    pub fn told(&self) -> Told<Value> {
        let inner = self.inner.borrow();
        inner.left.iter().flat_map(|level| level.noted.iter().cloned()).collect()
    }

    /// Goes on after an error that has been caught: the blocks that it left are over.
    pub fn forget(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.left.clear();
        inner.point = None;
    }

    /// The next block to be taken up, going inwards.
    pub fn next_level(&self) -> Option<Level> {
        self.inner.borrow_mut().to_resume.pop()
    }

    /// Where the run ended before its end, and whether it can be taken up there.
    pub fn into_suspension(self) -> (Suspension, bool) {
        let inner = self.inner.into_inner();
        let levels = inner.left.into_iter().rev().collect();
        let (is_stop, is_attach) = (inner.is_stop, inner.is_attach);
        let (reason, standing) = (inner.reason, inner.standing);
        (Suspension { levels, is_stop, reason, is_attach, standing }, inner.is_suspending)
    }
}

thread_local! {
    static LEFT: RefCell<Told<Value>> = const { RefCell::new(Vec::new()) };
}

/// What notes of the run of this thread that has failed last said of other things than states, the innermost
/// first. It is given once.
pub fn left_behind() -> Told<Value> {
    LEFT.take()
}

/// Whether a note speaks of something else than a state.
fn is_other(name: &str) -> bool {
    name.starts_with('@')
}

/// What a suspended run ends with.
fn suspended() -> Error {
    Error::new(ErrorKind::Interrupted, "the run was suspended")
}

impl Suspension {
    /// The same, for whoever runs it next; nobody has asked for it.
    pub fn handed_back(self) -> Suspension {
        Suspension { is_attach: true, ..self }
    }

    /// The error of a run that was stopped here.
    pub(crate) fn stopped(self) -> Error {
        let asked = || Error::new(ErrorKind::Interrupted, "stopped on request");
        self.reason.unwrap_or_else(asked)
    }

    /// Why the run was stopped, if somebody asked for it, or if a limit was reached.
    pub fn reason(&self) -> Option<&Error> {
        self.reason.as_ref()
    }

    /// A run that has not begun yet, on these inputs.
    pub fn at_start(plan: &Plan, inputs: &[Value]) -> Suspension {
        let values = (0..).zip(inputs.iter().cloned()).collect();
        let known = plan.known.clone();
        let (in_state, noted) = (Vec::new(), Vec::new());
        let sizes = known.clone();
        let level = Level { step: 0, values, in_state, known, sizes, point: None, noted };
        Suspension { levels: vec![level], ..Suspension::default() }
    }

    /// All values that the run will go on with, apart from states.
    pub fn values(&self) -> Vec<&Value> {
        let mut values = Vec::new();
        for level in &self.levels {
            values.extend(level.values.iter().map(|(_, value)| value));
            if let Some(point) = &level.point {
                values.extend(point.state.iter().chain(&point.args).flatten());
            }
        }
        values
    }

    /// Gives the states what loops have computed so far, so that it is not lost. What notes say of other things
    /// can be asked for ([`left_behind`]).
    pub(crate) fn save_states(&self, plan: &Plan, state: &State) -> Result<()> {
        let noted = self.levels.iter().rev().flat_map(|level| level.noted.iter());
        LEFT.set(noted.filter(|(name, _)| is_other(name)).cloned().collect());
        let found = self.states(plan).into_iter().chain(self.noted(plan));
        found.into_iter().try_for_each(|(name, value)| state.assign(&name, value))
    }

    /// The values that states have got in loops under way, which will assign them when they are over.
    fn states(&self, plan: &Plan) -> Vec<(Arc<str>, Value)> {
        let mut found = Vec::new();
        let Some(level) = self.levels.first() else { return found };
        let Some(step) = plan.steps.get(level.step) else { return found };
        let Some(carries) = step.op.carries() else { return found };
        for later in &plan.steps[level.step..] {
            let Kind::Assign(state) = &later.kind else { continue };
            if step.op.reader().is_some() && later.inputs[0] == step.first_output {
                found.extend(self.position(0).map(|position| (state.clone(), position)));
                continue;
            }
            let first = step.first_output + carries.outputs as ValueId;
            let carried = later.inputs[0].checked_sub(first).map(|k| k as usize);
            let Some(k) = carried.filter(|&k| k < carries.count) else { continue };
            if let Some(value) = self.carried(plan, 0, k) {
                found.push((state.clone(), value));
            }
        }
        found
    }

    /// The values that a failed run has assigned in the blocks under way, the innermost last.
    fn noted(&self, plan: &Plan) -> Vec<(Arc<str>, Value)> {
        let Some(level) = self.levels.first() else { return Vec::new() };
        let later = plan.steps.get(level.step..).unwrap_or_default();
        let is_assigned = |state: &Arc<str>| {
            level.noted.iter().any(|(name, _)| name == state)
                || later
                    .iter()
                    .any(|step| matches!(&step.kind, Kind::Assign(name) if name == state))
        };
        let noted = self.levels.iter().flat_map(|level| &level.noted);
        noted.filter(|(state, _)| !is_other(state) && is_assigned(state)).cloned().collect()
    }

    /// Where the reader stands over which the loop under way at this level goes.
    fn position(&self, level: usize) -> Option<Value> {
        self.levels.get(level)?.point.as_ref()?.state.as_ref()?.last().cloned()
    }

    /// The latest value that the loop under way at this level carries in place `k`.
    fn carried(&self, plan: &Plan, level: usize, k: usize) -> Option<Value> {
        let at = &self.levels[level];
        let step = plan.steps.get(at.step)?;
        let carries = step.op.carries()?;
        let point = at.point.as_ref()?;
        if let Some(args) = &point.args {
            return args.get(carries.params + k).cloned();
        }
        let Kind::Blocks(bodies) = &step.kind else { return None };
        let inner = self.levels.get(level + 1)?;
        let body = bodies.first()?.plan(&inner.known).ok()?;
        let alive = |id: ValueId| {
            inner.values.iter().find(|(known, _)| *known == id).map(|(_, value)| value.clone())
        };
        let result = *body.results.get(carries.results + k)?;
        let nested = || {
            let step = body.steps.get(inner.step)?;
            if step.op.reader().is_some() && result == step.first_output {
                return self.position(level + 1);
            }
            let nested = step.op.carries()?;
            let first = step.first_output + nested.outputs as ValueId;
            let k = result.checked_sub(first)? as usize;
            (k < nested.count).then(|| self.carried(&body, level + 1, k))?
        };
        alive(result).or_else(nested).or_else(|| alive((carries.params + k) as ValueId))
    }
}
