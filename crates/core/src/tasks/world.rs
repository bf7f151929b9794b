//! Who is there, who waits, and what ends all of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fluvial_tensor::{Error, ErrorKind, Loc, Result, Type, interrupt};

use super::run::has_outsiders;
use super::schedule::{self, Chooser};
use crate::limits;
use crate::value::Value;

/// How often the thread that began a world looks for a request to stop while it waits.
const LOOK: Duration = Duration::from_millis(20);

/// The tasks that can wake one another.
pub struct World {
    inner: Mutex<Inner>,
    /// Tells whoever waits for tasks to end.
    changed: Condvar,
    /// Whether all who can ever take part are tasks of it: then it is known when nobody can go on.
    is_closed: bool,
}

/// What the lock guards.
pub(super) struct Inner {
    pub queues: BTreeMap<u64, Queue>,
    pub(super) next_queue: u64,
    pub(super) tasks: BTreeMap<u64, Task>,
    pub(super) next_task: u64,
    /// How many tasks do not wait.
    pub(super) n_running: usize,
    /// What has ended the world.
    pub(super) failed: Option<Error>,
    /// Whether one who was not started as a task has been told of it.
    pub(super) is_told: bool,
    /// Chooses among several.
    pub(super) chooser: Chooser,
    /// Those that could go on, if only one task runs at a time.
    pub(super) ready: Option<Vec<u64>>,
    /// See [`World`].
    pub(super) is_closed: bool,
    /// Seconds that have passed, if only one task runs at a time: time then passes when all wait.
    pub(super) passed: f64,
}

/// One who takes part.
pub(super) struct Task {
    /// Where it was started; the first one was not.
    pub(super) started: Option<Loc>,
    pub(super) wake: Arc<Condvar>,
    /// What it waits for, and on which line.
    pub(super) waits: Option<(Loc, Vec<Awaited>)>,
    /// What it has got; it goes on once it has its turn.
    pub(super) granted: Option<Granted>,
    pub(super) has_turn: bool,
    /// When it goes on by itself.
    pub(super) due: Option<Due>,
}

/// A moment: of the clock, or of the time that passes when all wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Clock(Instant),
    Passed(f64),
}

/// The earlier one of two moments.
pub(super) fn earlier(one: Option<Due>, other: Due) -> Option<Due> {
    Some(match (one, other) {
        (None, other) => other,
        (Some(Due::Clock(a)), Due::Clock(b)) => Due::Clock(a.min(b)),
        (Some(Due::Passed(a)), Due::Passed(b)) => Due::Passed(a.min(b)),
        (Some(one), _) => one,
    })
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Send,
    Receive,
    Wait,
}

/// A channel that a task waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub verb: Verb,
    pub made: Loc,
}

/// What a waiting task gets.
pub(super) enum Granted {
    /// One of its cases; for one who receives the message, or nothing if the channel is closed.
    Case(usize, Option<Value>),
    /// The channel that it sends to was closed.
    Refused(usize),
    /// A clock has come to its end.
    Time,
}

/// A task in the queue of a channel.
pub(super) struct Waiter {
    pub task: u64,
    pub case: usize,
    /// What it sends.
    pub message: Option<Value>,
    /// Whether it leaves the message where it is.
    pub peeks: bool,
}

/// The state of a channel.
pub(super) struct Queue {
    pub messages: VecDeque<Value>,
    pub capacity: usize,
    pub is_closed: bool,
    pub receivers: VecDeque<Waiter>,
    pub senders: VecDeque<Waiter>,
    /// When a timer sends its message, and which.
    pub timer: Option<(Due, Value)>,
}

/// A channel, as a value. Clones are the same channel, which lives as long as one of them.
#[derive(Clone)]
pub struct Channel(Arc<Handle>);

struct Handle {
    world: Arc<World>,
    number: u64,
    ty: Type,
    made: Loc,
    capacity: usize,
}

impl Channel {
    /// The type of the channel.
    pub fn ty(&self) -> Type {
        self.0.ty
    }

    /// How many messages it holds that nobody has received yet.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// The line that made it.
    pub fn made(&self) -> Loc {
        self.0.made
    }

    /// Whether both are one channel.
    pub fn same(&self, other: &Channel) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn world(&self) -> &Arc<World> {
        &self.0.world
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of capacity {}", self.0.ty, self.0.capacity)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let gone = self.world.lock().queues.remove(&self.number);
        // Messages may be large, and may be handles of other things: they go without the lock.
        drop(gone);
    }
}

/// Where this thread takes part.
struct Member {
    world: Arc<World>,
    task: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.world.leave(self.task);
    }
}

thread_local! {
    static MEMBER: RefCell<Vec<Member>> = const { RefCell::new(Vec::new()) };
}

/// Takes a thread out of its world when dropped.
#[must_use = "the thread takes part as long as the guard lives"]
pub(super) struct Entered(std::marker::PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        let member = MEMBER.with_borrow_mut(Vec::pop);
        drop(member);
    }
}

impl World {
    /// A world for one run. Unless the thread has a [schedule](super::with_schedule), tasks run at the same time.
    pub fn new(is_closed: bool) -> Arc<World> {
        let (chooser, one_at_a_time) = schedule::of_new_world();
        let inner = Inner {
            queues: BTreeMap::new(),
            next_queue: 0,
            tasks: BTreeMap::new(),
            next_task: 0,
            n_running: 0,
            failed: None,
            is_told: false,
            chooser,
            ready: one_at_a_time.then(Vec::new),
            is_closed,
            passed: 0.0,
        };
        Arc::new(World { inner: Mutex::new(inner), changed: Condvar::new(), is_closed })
    }

    /// The world of this thread: that of the run that it is in, else that of the lines of the process.
    pub fn current() -> Arc<World> {
        static LINES: OnceLock<Arc<World>> = OnceLock::new();
        let own = MEMBER.with_borrow(|all| all.last().map(|member| member.world.clone()));
        own.unwrap_or_else(|| {
            let world = LINES.get_or_init(|| World::new(false)).clone();
            let task = world.join(None);
            MEMBER.with_borrow_mut(|all| all.push(Member { world: world.clone(), task }));
            world
        })
    }

    /// The world of the run of a program that this thread is in, if it has tasks.
    pub(super) fn of_run() -> Option<Arc<World>> {
        let own = MEMBER.with_borrow(|all| all.last().map(|member| member.world.clone()));
        own.filter(|world| world.is_closed)
    }

    /// This thread takes part as that task, until the guard is dropped.
    pub(super) fn enter(self: &Arc<World>, task: u64) -> Entered {
        MEMBER.with_borrow_mut(|all| all.push(Member { world: self.clone(), task }));
        Entered(std::marker::PhantomData)
    }

    /// One more who takes part; nobody started the first one.
    pub(super) fn join(&self, started: Option<Loc>) -> u64 {
        let mut inner = self.lock();
        let number = inner.next_task;
        inner.next_task += 1;
        let waits_for_turn = inner.ready.is_some() && inner.n_running > 0;
        let task = Task {
            started,
            wake: Arc::new(Condvar::new()),
            waits: None,
            granted: None,
            has_turn: !waits_for_turn,
            due: None,
        };
        inner.tasks.insert(number, task);
        match (waits_for_turn, &mut inner.ready) {
            (true, Some(ready)) => ready.push(number),
            _ => inner.n_running += 1,
        }
        number
    }

    /// Waits until a task that was just started has its turn.
    pub(super) fn first_turn(&self, task: u64) {
        let mut inner = self.lock();
        while inner.failed.is_none() && inner.tasks.get(&task).is_some_and(|task| !task.has_turn) {
            let wake = inner.tasks[&task].wake.clone();
            inner = wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One who takes part has ended.
    fn leave(&self, task: u64) {
        let mut inner = self.lock();
        if let Some(gone) = inner.tasks.remove(&task) {
            if gone.has_turn && gone.waits.is_none() {
                inner.n_running -= 1;
            }
            if let Some(ready) = &mut inner.ready {
                ready.retain(|number| *number != task);
            }
        }
        inner.forget_told();
        inner.pass_turn();
        self.end_if_stuck(&mut inner);
        self.changed.notify_all();
    }

    /// Ends the world for all, if nothing has ended it before.
    pub(super) fn fail(&self, error: Error) {
        let mut inner = self.lock();
        inner.fail(error);
        self.changed.notify_all();
    }

    /// What has ended the world.
    pub(super) fn failed(&self) -> Option<Error> {
        self.lock().failed.clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(
        self: &Arc<World>,
        message: Type,
        capacity: usize,
        made: Loc,
        timer: Option<(f64, Value)>,
    ) -> Result<Channel> {
        let ty = message.channel_of()?;
        let mut inner = self.lock();
        let number = inner.next_queue;
        inner.next_queue += 1;
        let timer = timer.map(|(seconds, value)| (inner.due(seconds), value));
        let queue = Queue {
            messages: VecDeque::new(),
            capacity,
            is_closed: false,
            receivers: VecDeque::new(),
            senders: VecDeque::new(),
            timer,
        };
        inner.queues.insert(number, queue);
        Ok(Channel(Arc::new(Handle { world: self.clone(), number, ty, made, capacity })))
    }

    /// The number of this thread in this world, in which it takes part from now on.
    pub(super) fn me(self: &Arc<World>) -> u64 {
        let known = MEMBER.with_borrow(|all| {
            let own = all.iter().rev().find(|member| Arc::ptr_eq(&member.world, self));
            own.map(|member| member.task)
        });
        known.unwrap_or_else(|| {
            let task = self.join(None);
            let member = Member { world: self.clone(), task };
            // Below the run that it may be in, so that this stays on top.
            MEMBER.with_borrow_mut(|all| all.insert(0, member));
            task
        })
    }

    /// Lets a task wait until it has got something, or until nothing can come any more.
    pub(super) fn block<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        task: u64,
        loc: Loc,
        awaited: Vec<Awaited>,
        due: Option<Due>,
    ) -> Result<Granted> {
        if let Some(own) = inner.tasks.get_mut(&task) {
            (own.waits, own.due, own.has_turn) = (Some((loc, awaited)), due, false);
            inner.n_running -= 1;
        }
        inner.pass_turn();
        self.end_if_stuck(&mut inner);
        self.changed.notify_all();
        loop {
            if let Some(failed) = &inner.failed {
                let failed = failed.clone();
                inner.unblock(task);
                inner.told(task);
                return Err(failed);
            }
            let Some(own) = inner.tasks.get_mut(&task) else {
                return Err(Error::internal("a task that waits is not known"));
            };
            if own.has_turn
                && let Some(granted) = own.granted.take()
            {
                (own.waits, own.due) = (None, None);
                return Ok(granted);
            }
            let is_first = own.started.is_none();
            let wake = own.wake.clone();
            let until = match own.due {
                Some(Due::Clock(due)) if own.granted.is_none() => {
                    let left = due.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        inner.grant(task, Granted::Time);
                        continue;
                    }
                    Some(left)
                }
                _ => None,
            };
            let until = match (until, is_first) {
                (Some(left), true) => Some(left.min(LOOK)),
                (None, true) => Some(LOOK),
                (until, false) => until,
            };
            inner = match until {
                Some(left) => {
                    wake.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => wake.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
            if is_first && !self.is_closed && inner.failed.is_none() && inner.is_stuck() {
                // Only the host knows whether there are other threads; it must not be asked with the lock.
                let members = inner.tasks.len();
                drop(inner);
                let is_over = !has_outsiders(members);
                inner = self.lock();
                if is_over && inner.failed.is_none() && inner.is_stuck() {
                    let error = inner.deadlock();
                    inner.fail(error);
                }
            }
            if is_first && let Err(stopped) = interrupt::check() {
                inner.unblock(task);
                if self.is_closed {
                    inner.fail(stopped.clone());
                }
                return Err(stopped);
            }
        }
    }

    /// Lets another task go on, if only one runs at a time.
    pub(super) fn yield_turn(&self, task: u64) -> Result<()> {
        let mut inner = self.lock();
        if inner.ready.as_ref().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        let Inner { ready, tasks, .. } = &mut *inner;
        if let (Some(ready), Some(own)) = (ready, tasks.get_mut(&task)) {
            ready.push(task);
            own.has_turn = false;
        }
        inner.n_running -= 1;
        inner.pass_turn();
        while inner.failed.is_none() && inner.tasks.get(&task).is_some_and(|own| !own.has_turn) {
            let wake = inner.tasks[&task].wake.clone();
            inner = wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.failed.clone().map_or(Ok(()), Err)
    }

    /// Ends the world with an error if every task waits, and no clock will wake one.
    fn end_if_stuck(&self, inner: &mut Inner) {
        if self.is_closed
            && inner.is_stuck()
            && inner.tasks.values().any(|task| task.started.is_none())
        {
            let error = inner.deadlock();
            inner.fail(error);
        }
    }

    /// Waits until no other task can go on, and ends those that still wait. Gives what they waited for.
    pub(super) fn finish(&self) -> Vec<String> {
        let mut inner = self.lock();
        let mut left = None;
        while !inner.tasks.is_empty() {
            if inner.failed.is_none() && inner.is_stuck() {
                left = Some(inner.waiting());
                inner.fail(Error::new(ErrorKind::Interrupted, "the run is over"));
            }
            let looked = self.changed.wait_timeout(inner, LOOK);
            inner = looked.unwrap_or_else(PoisonError::into_inner).0;
            if inner.failed.is_none()
                && let Err(stopped) = interrupt::check()
            {
                inner.fail(stopped);
            }
        }
        if inner.failed.is_some() {
            limits::alert(false);
        }
        if left.is_some() {
            inner.failed = None;
        }
        left.unwrap_or_default()
    }

    /// Ends all waiting with this error, for front ends.
    pub fn end(&self, error: Error) {
        self.fail(error);
    }

    /// What tasks wait for: a line for each.
    pub fn waiting(&self) -> Vec<String> {
        self.lock().waiting()
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb {
            Verb::Send => write!(f, "sends to the channel made at {}", self.made),
            Verb::Receive => write!(f, "receives from the channel made at {}", self.made),
            Verb::Wait => write!(f, "waits for the task started at {}", self.made),
        }
    }
}
