//! Stopping a run from outside: Ctrl-C and requests to end.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fluvial::core::interrupt;

use crate::fault::{FAILED, Fault};

/// The signal that has arrived; 0 before.
static ARRIVED: AtomicU8 = AtomicU8::new(0);

/// What Ctrl-C sets while somebody debugs.
static PAUSE: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Ctrl-C sets the flag and stops nothing, until the guard is dropped.
pub fn pause_instead(flag: &Arc<AtomicBool>) -> Pausing {
    *PAUSE.lock().unwrap_or_else(PoisonError::into_inner) = Some(flag.clone());
    Pausing
}

/// Ctrl-C stops what runs again when this is dropped.
#[must_use = "Ctrl-C stops what runs again when the guard is dropped"]
pub struct Pausing;

impl Drop for Pausing {
    fn drop(&mut self) {
        *PAUSE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether the first signal is only noted: ranks of a run agree on where they stop.
static IS_NOTED: AtomicBool = AtomicBool::new(false);

/// From now on the first signal is only noted ([`has_arrived`]); who runs looks for it. A second one ends the process.
pub fn only_note() {
    IS_NOTED.store(true, Ordering::Relaxed);
}

/// The exit code of what was stopped: 128 and the number of the signal.
pub fn status() -> u8 {
    match ARRIVED.load(Ordering::Relaxed) {
        0 => FAILED,
        signal => 128 + signal,
    }
}

/// Whether a signal has arrived.
pub fn has_arrived() -> bool {
    ARRIVED.load(Ordering::Relaxed) != 0
}

/// The number of the signal of a pipe that nobody reads, which is ignored; writing to it is an error.
const SIGPIPE: u8 = 13;

/// Nobody reads the results any more, as after `| head`: what runs is asked to stop.
pub fn nobody_reads() {
    let is_first = ARRIVED.compare_exchange(0, SIGPIPE, Ordering::Relaxed, Ordering::Relaxed);
    if is_first.is_ok() && IS_WATCHING.load(Ordering::Relaxed) {
        interrupt::request();
    }
}

/// Whether what runs was stopped because nobody reads its results.
pub fn is_unread() -> bool {
    ARRIVED.load(Ordering::Relaxed) == SIGPIPE
}

/// Whether something runs that may be asked to stop.
static IS_WATCHING: AtomicBool = AtomicBool::new(false);

/// An error if a signal has arrived.
pub fn check() -> Result<(), Fault> {
    match has_arrived() {
        false => Ok(()),
        true => {
            interrupt::request();
            Ok(interrupt::check()?)
        }
    }
}

/// The number of the signal of a file that becomes longer than allowed.
#[cfg(unix)]
const SIGXFSZ: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 31 } else { 25 };

/// From now on, the first signal asks what runs to stop, between trips of its loops; the second one ends the
/// process at once.
#[cfg(unix)]
pub fn watch() -> Result<(), Fault> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    ARRIVED.store(0, Ordering::Relaxed);
    IS_NOTED.store(false, Ordering::Relaxed);
    interrupt::clear();
    if IS_WATCHING.load(Ordering::Relaxed) {
        return Ok(());
    }
    // A file that becomes too long is then an error of writing, as a full disk is, and does not end the process.
    let seen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, seen).map_err(unwatched)?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(unwatched)?;
    let watching = move || {
        for signal in signals.forever() {
            let pause = PAUSE.lock().unwrap_or_else(PoisonError::into_inner);
            if let (SIGINT, Some(flag)) = (signal, pause.as_ref()) {
                flag.store(true, Ordering::Relaxed);
                continue;
            }
            drop(pause);
            let signal = u8::try_from(signal).unwrap_or(0);
            if ARRIVED.swap(signal, Ordering::Relaxed) != 0 {
                std::process::exit(i32::from(status()));
            }
            if !IS_NOTED.load(Ordering::Relaxed) {
                interrupt::request();
            }
        }
    };
    std::thread::Builder::new().name("signals".to_string()).spawn(watching).map_err(unwatched)?;
    IS_WATCHING.store(true, Ordering::Relaxed);
    Ok(())
}

/// Elsewhere a signal ends the process.
#[cfg(not(unix))]
pub fn watch() -> Result<(), Fault> {
    Ok(())
}

#[cfg(unix)]
fn unwatched(error: std::io::Error) -> Fault {
    fluvial::core::Error::internal(format!("signals cannot be watched: {error}")).into()
}
