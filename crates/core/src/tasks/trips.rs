//! The trips of a loop that do not depend on one another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fluvial_kernels::threads;
use fluvial_tensor::{Error, ErrorKind, Result, interrupt};

use crate::limits;
use crate::scope;

/// Runs `trip` for each number below `n`, on the threads that kernels share; what kernels do inside runs on one thread
/// each. If trips fail, the error is that of the first one among them, whichever came to its end first.
pub fn run(n: usize, trip: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let errors: Mutex<Vec<(usize, Error)>> = Mutex::default();
    let carried = limits::carried();
    let caller = std::thread::current().id();
    threads::run(n, |i| {
        // Trips before one that has failed may still fail, and then count in its place.
        if i > first_failed.load(Ordering::Relaxed) {
            return;
        }
        let is_caller = std::thread::current().id() == caller;
        let _limits = (!is_caller).then(|| carried.enter());
        let _scope = (scope::imperative(), scope::no_grad(), interrupt::hear(false));
        if let Err(error) = interrupt::check().and_then(|()| trip(i)) {
            let is_stop = error.kind() == ErrorKind::Interrupted;
            first_failed.fetch_min(if is_stop { 0 } else { i }, Ordering::Relaxed);
            errors.lock().unwrap_or_else(PoisonError::into_inner).push((i, error));
            if is_stop {
                // Those who are in a loop of their own have to notice it, too.
                interrupt::request();
            }
        }
    });
    let mut errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    errors.sort_by_key(|(i, error)| (error.kind() != ErrorKind::Interrupted, *i));
    match errors.into_iter().next() {
        None => Ok(()),
        Some((_, error)) if error.kind() == ErrorKind::Interrupted => {
            interrupt::clear();
            Err(error)
        }
        Some((i, error)) => Err(error.note(format!("in trip {i} of a parallel loop"))),
    }
}
