//! Stopping what runs: front ends set the flag (Ctrl-C), loops and interpreters look at it.

use std::sync::atomic::{AtomicBool, Ordering};

use fluvial_tensor::{Error, ErrorKind, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks whatever runs to stop at its next instruction. Safe to call from a signal handler.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Forgets a request that was not yet noticed.
pub fn clear() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// An error if a stop was asked for; the request is then spent.
#[inline]
pub fn check() -> Result<()> {
    match REQUESTED.load(Ordering::Relaxed) {
        false => Ok(()),
        true => {
            clear();
            Err(Error::new(ErrorKind::Interrupted, "stopped on request"))
        }
    }
}
