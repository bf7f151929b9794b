//! Threads for tasks, and runs that have some.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;

use fluvial_tensor::{Error, ErrorKind, Loc, Result};

use super::channel::{Case, select};
use super::owners;
use super::world::{Channel, Entered, World};
use crate::limits;
use crate::scope;
use crate::value::Value;

/// Where a task leaves what it gives: that it has ended, then its results.
pub struct Done {
    /// The channels.
    pub channels: Vec<Channel>,
    /// The line that starts it.
    pub started: Loc,
}

/// Told of tasks that were left waiting when a run ended, a line for each.
type Teller = Arc<dyn Fn(&[String]) + Send + Sync>;

static TELLER: RwLock<Option<Teller>> = RwLock::new(None);

/// Tells `teller` of tasks that were left waiting when a run ended, instead of standard error.
pub fn tell_left(teller: impl Fn(&[String]) + Send + Sync + 'static) {
    *TELLER.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(teller));
}

fn tell(left: &[String]) {
    let teller = TELLER.read().unwrap_or_else(PoisonError::into_inner).clone();
    match teller {
        Some(teller) => teller(left),
        None => {
            eprintln!("warning: tasks were left waiting when the run ended");
            left.iter().for_each(|line| eprintln!("  {line}"));
        }
    }
}

/// Whether this thread is in the run of a program that has tasks.
pub fn in_run() -> bool {
    World::of_run().is_some()
}

/// Runs what may start tasks, and waits until none of them can go on any more. An error of any of them is the error of
/// the run.
pub fn run<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let world = World::new(true);
    let done = {
        let task = world.join(None);
        let _entered = world.enter(task);
        let done = f();
        if let Err(error) = &done {
            world.fail(error.clone());
        }
        done
    };
    let left = world.finish();
    if let Some(failed) = world.failed() {
        return Err(failed);
    }
    if !left.is_empty() {
        tell(&left);
    }
    done
}

/// An error if the run that this thread works for has been ended by another task.
pub(crate) fn check() -> Result<()> {
    World::of_run().and_then(|world| world.failed()).map_or(Ok(()), Err)
}

/// Starts a task of this thread's world on a thread of its own.
pub fn spawn(done: Done, work: impl FnOnce() -> Result<Vec<Value>> + Send + 'static) -> Result<()> {
    let world = World::current();
    let task = world.join(Some(done.started));
    let carried = limits::carried();
    let theirs = world.clone();
    let body = move || {
        let _entered = theirs.enter(task);
        theirs.first_turn(task);
        if theirs.failed().is_some() {
            return;
        }
        let _limits = carried.enter();
        let _scope = (scope::imperative(), scope::no_grad());
        let started = done.started;
        let ended =
            catch_unwind(AssertUnwindSafe(|| work().and_then(|results| leave(&done, results))));
        let ended = ended.unwrap_or_else(|_| Err(Error::internal("a task has panicked")));
        if let Err(error) = ended {
            theirs.fail(error.note(format!("in the task started at {started}")));
        }
    };
    let thread = thread::Builder::new().name(format!("fluvial-task-{task}")).spawn(body);
    match thread {
        Ok(_) => Ok(()),
        Err(error) => {
            drop(world.enter(task));
            Err(Error::new(ErrorKind::Memory, format!("no thread for a task: {error}"))
                .remedy("start fewer tasks at once"))
        }
    }
}

fn leave(done: &Done, results: Vec<Value>) -> Result<()> {
    let ended = Value::from(fluvial_tensor::Tensor::scalar(true));
    // The results first: who has seen the end finds them there.
    let values = results.into_iter().chain([ended]);
    let channels = done.channels.iter().skip(1).chain(done.channels.first());
    for (channel, value) in channels.zip(values) {
        select(vec![Case::Send(channel.clone(), value)], true, done.started)?;
    }
    Ok(())
}

/// A task that a thread of the host will run. It counts from the line on that starts it.
pub struct Announced {
    world: Arc<World>,
    number: u64,
    /// Its number among those that may assign cells.
    owner: u64,
}

impl Announced {
    /// A task that is started on this line.
    pub fn new(started: Loc, world: Arc<World>) -> Announced {
        let number = world.join(Some(started));
        Announced { world, number, owner: owners::begin(started) }
    }

    /// The tasks that it can wake.
    pub fn world(&self) -> &World {
        &self.world
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        settle(self);
    }
}

/// Says that the task has ended and that this thread knows it: what it has assigned may be assigned again.
pub fn settle(task: &Announced) {
    owners::settle(task.owner);
}

/// Makes this thread a task that was announced, until the guard is dropped.
pub fn take_part(task: &Announced) -> Leave {
    Leave {
        _entered: task.world.enter(task.number),
        task: task.owner,
        before: owners::enter(task.owner),
    }
}

/// Ends a task of the host.
#[must_use = "the task ends when the guard is dropped"]
pub struct Leave {
    _entered: Entered,
    task: u64,
    before: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        owners::enter(self.before);
        owners::ended(self.task);
    }
}

/// Says whether there may be threads that can wake tasks of the host, of which so many take part.
type Outsiders = Arc<dyn Fn(usize) -> bool + Send + Sync>;

static OUTSIDERS: RwLock<Option<Outsiders>> = RwLock::new(None);

/// Says how to find out whether there may be other threads than so many that can wake tasks of the host. Until then there
/// may always be.
pub fn set_outsiders(outsiders: impl Fn(usize) -> bool + Send + Sync + 'static) {
    *OUTSIDERS.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(outsiders));
}

/// Whether there may be threads that can wake tasks of the host, of which so many take part.
pub(super) fn has_outsiders(members: usize) -> bool {
    let outsiders = OUTSIDERS.read().unwrap_or_else(PoisonError::into_inner).clone();
    outsiders.is_none_or(|outsiders| outsiders(members))
}
