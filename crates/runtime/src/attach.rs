//! Debuggers: who gets to conduct runs, from their start or from the next trip of a loop on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use fluvial_core::{Result, Value};

use crate::executor::Executor;
use crate::observe::Observer;
use crate::plan::{Plan, Suspension, Trip};

/// Conducts runs: it runs them in stretches by [`Executor::stretch`], and may run parts of them again.
pub trait Conductor: Send + Sync {
    /// Runs a job to its end, or until its `wanted` asks for a suspension.
    fn conduct(&self, job: Job<'_>) -> Result<Ended>;
}

/// A run that is to be made.
pub struct Job<'a> {
    /// What runs.
    pub executor: &'a Executor,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Where it starts.
    pub start: Start,
    /// Who else is told of every step.
    pub observer: Option<&'a dyn Observer>,
    /// Asked before each trip of a loop whether to suspend the run, once for each trip.
    pub wanted: &'a dyn Fn(&Trip<'_>) -> bool,
}

/// Where a stretch of a run starts.
#[derive(Clone)]
pub enum Start {
    /// At the beginning, on these inputs.
    Inputs(Vec<Value>),
    /// Where it was suspended.
    Suspension(Suspension),
}

/// How a stretch of a run has ended.
pub enum Ended {
    /// With its outputs.
    Done(Vec<Value>),
    /// Before a trip of a loop.
    Suspended(Suspension),
}

static IS_ATTACHED: AtomicBool = AtomicBool::new(false);
static CONDUCTOR: RwLock<Option<Arc<dyn Conductor>>> = RwLock::new(None);

/// Lets somebody conduct all runs from now on, also those under way from their next trip of a loop on.
pub fn attach(conductor: Arc<dyn Conductor>) {
    *CONDUCTOR.write().unwrap_or_else(PoisonError::into_inner) = Some(conductor);
    IS_ATTACHED.store(true, Ordering::Release);
}

/// Nobody conducts runs any more. The conductor ends those that it has by itself.
pub fn detach() {
    IS_ATTACHED.store(false, Ordering::Release);
    *CONDUCTOR.write().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Set from outside when somebody wants to attach himself, and what to do then.
static REQUEST: OnceLock<(Arc<AtomicBool>, fn())> = OnceLock::new();

/// Looks at a flag, which a signal may set, whenever a run begins or a loop makes a trip, and calls `answer` once for each
/// time that it is set. The first call counts.
pub fn on_request(flag: Arc<AtomicBool>, answer: fn()) {
    let _ = REQUEST.set((flag, answer));
}

/// Whether somebody conducts runs, or wants to.
#[inline]
pub fn is_attached() -> bool {
    let is_asked = || REQUEST.get().is_some_and(|(flag, _)| flag.load(Ordering::Relaxed));
    cfg!(feature = "debug") && (IS_ATTACHED.load(Ordering::Relaxed) || is_asked())
}

/// Who conducts runs.
pub fn conductor() -> Option<Arc<dyn Conductor>> {
    if let Some((flag, answer)) = REQUEST.get()
        && flag.swap(false, Ordering::Relaxed)
    {
        answer();
    }
    match IS_ATTACHED.load(Ordering::Acquire) {
        true => CONDUCTOR.read().unwrap_or_else(PoisonError::into_inner).clone(),
        false => None,
    }
}
