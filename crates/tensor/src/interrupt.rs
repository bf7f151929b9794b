//! Stopping what runs: front ends ask (Ctrl-C), loops, interpreters and kernels look.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// How often a stop was asked for.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// How many of these were noticed or forgotten.
static SPENT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether work of this thread may be left half-way.
    static HEARS: Cell<bool> = const { Cell::new(false) };
}

/// Asks whatever runs to stop at its next instruction. Safe to call from a signal handler.
pub fn request() {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// Forgets requests that were not yet noticed.
pub fn clear() {
    SPENT.store(REQUESTS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether there is a request that nobody has noticed.
#[inline]
pub fn is_requested() -> bool {
    REQUESTS.load(Ordering::Relaxed) != SPENT.load(Ordering::Relaxed)
}

/// An error if a stop was asked for; the request is then spent.
#[inline]
pub fn check() -> Result<()> {
    match is_requested() {
        false => Ok(()),
        true => Err(stopped()),
    }
}

#[cold]
fn stopped() -> Error {
    clear();
    Error::new(ErrorKind::Interrupted, "stopped on request")
}

/// Whether long work of this thread may be left half-way, until the guard is dropped. It may not at first:
/// only who runs it by [`caught`] can say so.
#[must_use = "it counts as long as the guard lives"]
pub fn hear(hears: bool) -> Hearing {
    Hearing(HEARS.replace(hears))
}

/// Brings back what [`hear`] found.
pub struct Hearing(bool);

impl Hearing {
    /// Leaves the thread as it is now.
    pub fn forever(self) {
        std::mem::forget(self);
    }

    /// What the thread did before.
    pub fn before(&self) -> bool {
        self.0
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        HEARS.set(self.0);
    }
}

/// A piece of long work, which notices requests that come while it is under way.
#[derive(Clone, Copy)]
pub struct Watch(Option<u64>);

impl Watch {
    /// From now on. It notices nothing in a thread that does not [`hear`].
    #[inline]
    pub fn start() -> Watch {
        Watch(HEARS.get().then(|| REQUESTS.load(Ordering::Relaxed)))
    }

    /// Whether a stop was asked for since.
    #[inline]
    pub fn is_over(self) -> bool {
        self.0.is_some_and(|before| REQUESTS.load(Ordering::Relaxed) != before)
    }

    /// An error if a stop was asked for since, for loops over ops.
    #[inline]
    pub fn check(self) -> Result<()> {
        match self.is_over() {
            false => Ok(()),
            true => Err(stopped()),
        }
    }

    /// Leaves the work, up to the nearest [`caught`], if a stop was asked for since. Only in the thread
    /// that started it.
    #[inline]
    pub fn leave_if_over(self) {
        if self.is_over() {
            leave();
        }
    }
}

/// What work that is left half-way unwinds with.
struct Left;

#[cold]
fn leave() {
    resume_unwind(Box::new(Left));
}

/// Runs work that may be left half-way; that is then an error of kind [`Interrupted`](ErrorKind::Interrupted).
#[inline]
pub fn caught<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(payload) if payload.is::<Left>() => Err(stopped()),
        Err(payload) => resume_unwind(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_hears_is_left_half_way() {
        let work = || {
            caught(|| {
                let watch = Watch::start();
                request();
                watch.leave_if_over();
                Ok(3)
            })
        };
        assert_eq!(work().unwrap(), 3);
        clear();
        let hearing = hear(true);
        assert_eq!(work().unwrap_err().kind(), ErrorKind::Interrupted);
        assert!(!is_requested(), "a request is spent when it is noticed");
        drop(hearing);
        assert_eq!(work().unwrap(), 3);
        assert!(check().is_err() && check().is_ok());
    }

    #[test]
    fn a_panic_passes() {
        let fault = catch_unwind(|| caught(|| -> Result<()> { std::panic::panic_any(7) }));
        assert_eq!(fault.unwrap_err().downcast_ref(), Some(&7));
    }
}
