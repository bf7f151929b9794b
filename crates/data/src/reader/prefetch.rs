//! Results made ahead, on a thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use fluvial_tensor::{Error, ErrorKind, Result};

use super::walk::Walk;
use crate::source::Sample;

/// A walk that a thread of its own does, up to some results ahead. The thread starts when the first result is
/// asked for, and ends with the pass, with an error, or when this is dropped: then it finishes the result that
/// it works at, and nobody waits for it.
///
/// Whoever asks while nothing is ready and the thread has not begun the next result makes it himself. On a
/// busy machine a thread that was woken can take longer to run than a batch takes to be made.
pub(super) struct Prefetch {
    state: State,
    ahead: usize,
}

enum State {
    Waiting(Box<dyn Walk>),
    Running(Arc<Shared>),
    Over,
}

/// A result, the end of the pass, or what went wrong. After the last two nothing comes.
type Next = Result<Option<Sample>>;

struct Shared {
    /// None when it is over. Whoever makes a result holds it until the result is in the queue or given, so
    /// they stay in order. Locked before the queue.
    walk: Mutex<Option<Box<dyn Walk>>>,
    queue: Mutex<Queue>,
    was_filled: Condvar,
    was_taken: Condvar,
    /// How many results may wait.
    ahead: usize,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Next>,
    /// Whether nobody will ask any more.
    is_closed: bool,
}

impl Prefetch {
    pub(super) fn new(walk: Box<dyn Walk>, ahead: usize) -> Prefetch {
        Prefetch { state: State::Waiting(walk), ahead }
    }
}

impl Walk for Prefetch {
    fn next(&mut self) -> Next {
        if let State::Waiting(_) = self.state
            && let State::Waiting(walk) = std::mem::replace(&mut self.state, State::Over)
        {
            self.state = State::Running(start(walk, self.ahead)?);
        }
        let State::Running(shared) = &self.state else { return Ok(None) };
        let next = shared.next();
        if is_last(&next) {
            self.close();
        }
        next
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        if let State::Waiting(walk) = &mut self.state {
            return walk.skip(n);
        }
        for _ in 0..n {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Prefetch {
    fn close(&mut self) {
        if let State::Running(shared) = &self.state {
            let mut queue = shared.queue();
            queue.is_closed = true;
            queue.ready.clear();
            shared.was_taken.notify_one();
        }
        self.state = State::Over;
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.close();
    }
}

fn start(walk: Box<dyn Walk>, ahead: usize) -> Result<Arc<Shared>> {
    let shared = Arc::new(Shared {
        walk: Mutex::new(Some(walk)),
        queue: Mutex::default(),
        was_filled: Condvar::new(),
        was_taken: Condvar::new(),
        ahead,
    });
    let of_thread = shared.clone();
    std::thread::Builder::new()
        .name("fluvial-reader".into())
        .spawn(move || of_thread.run())
        .map_err(|error| {
            Error::state(format!("no thread could be started to read ahead: {error}"))
                .remedy("leave `prefetch` out, or end other threads")
        })?;
    Ok(shared)
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is ready. The thread is woken when half of it is gone, not each time.
    fn pop(&self, queue: &mut Queue) -> Option<Next> {
        let next = queue.ready.pop_front()?;
        if queue.ready.len() <= self.ahead / 2 {
            self.was_taken.notify_one();
        }
        Some(next)
    }

    /// What whoever asks is given.
    fn next(&self) -> Next {
        if let Some(next) = self.pop(&mut self.queue()) {
            return next;
        }
        let mut walk = match self.walk.try_lock() {
            Ok(walk) => walk,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return self.wait(),
        };
        // The thread may have finished one in between.
        let ready = self.pop(&mut self.queue());
        ready.unwrap_or_else(|| make(&mut walk))
    }

    /// What the thread is at work on.
    fn wait(&self) -> Next {
        let mut queue = self.queue();
        loop {
            if let Some(next) = self.pop(&mut queue) {
                return next;
            }
            queue = self.was_filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What the thread does.
    fn run(&self) {
        loop {
            let mut queue = self.queue();
            while queue.ready.len() >= self.ahead && !queue.is_closed {
                queue = self.was_taken.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.is_closed {
                return;
            }
            drop(queue);
            let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
            if walk.is_none() {
                return;
            }
            let next = make(&mut walk);
            let is_last = is_last(&next);
            self.queue().ready.push_back(next);
            self.was_filled.notify_one();
            if is_last {
                return;
            }
        }
    }
}

fn is_last(next: &Next) -> bool {
    !matches!(next, Ok(Some(_)))
}

/// The next result. A panic of a function of the host becomes an error.
fn make(walk: &mut Option<Box<dyn Walk>>) -> Next {
    let Some(running) = walk else { return Ok(None) };
    let next = catch_unwind(AssertUnwindSafe(|| running.next())).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no message".into());
        Err(Error::new(ErrorKind::Callback, format!("a function of a reader panicked: {text}")))
    });
    if is_last(&next) {
        *walk = None;
    }
    next
}
