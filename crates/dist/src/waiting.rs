//! Waiting for other ranks: bounded, open to Ctrl-C, and without what other threads may need.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fluvial_tensor::{Error, ErrorKind, Result, interrupt};

/// Seconds that are waited for a rank if nobody has said otherwise.
const PATIENCE: u64 = 600;

/// Milliseconds; zero while nobody has asked.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(0);

/// How long a rank is waited for: `FLUVIAL_DIST_TIMEOUT` in seconds, ten minutes without it.
pub fn patience() -> Duration {
    let known = PATIENCE_MS.load(Ordering::Relaxed);
    if known != 0 {
        return Duration::from_millis(known);
    }
    let patience = asked().ok().flatten().unwrap_or(Duration::from_secs(PATIENCE));
    set_patience(patience);
    patience
}

/// What the environment says of it; an error if that is not a time.
pub(crate) fn asked() -> Result<Option<Duration>> {
    let Some(text) = std::env::var_os("FLUVIAL_DIST_TIMEOUT") else { return Ok(None) };
    let seconds = text.to_str().and_then(|text| text.parse::<f64>().ok());
    match seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e9) {
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => Err(Error::argument(format!("FLUVIAL_DIST_TIMEOUT is {text:?}"))
            .remedy("set it to a number of seconds above zero, or not at all")),
    }
}

/// Sets how long a rank is waited for.
pub fn set_patience(patience: Duration) {
    PATIENCE_MS.store((patience.as_millis() as u64).max(1), Ordering::Relaxed);
}

static WAITS: OnceLock<fn(&mut (dyn FnMut() + Send))> = OnceLock::new();

/// Says how a front end waits: it has to call the function it is given, and lets go of what other ranks may need
/// meanwhile.
pub fn wait_by(f: fn(&mut (dyn FnMut() + Send))) {
    let _ = WAITS.set(f);
}

/// Runs what waits for other ranks.
pub(crate) fn waiting<R: Send>(f: impl FnOnce() -> R + Send) -> Option<R> {
    let (mut f, mut result) = (Some(f), None);
    let mut once = || {
        if let Some(f) = f.take() {
            result = Some(f());
        }
    };
    match WAITS.get() {
        Some(wait) => wait(&mut once),
        None => once(),
    }
    result
}

/// How long something has been waited for.
pub(crate) struct Since {
    began: Instant,
    patience: Duration,
}

impl Since {
    pub fn now() -> Since {
        Since { began: Instant::now(), patience: patience() }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// An error if it took too long, or if a stop is asked for.
    pub fn check(&self, what: &str, rank: usize) -> Result<()> {
        interrupt::check()?;
        match self.began.elapsed() < self.patience {
            true => Ok(()),
            false => Err(lost(format!(
                "rank {rank} has waited {:.0} s in `{what}` for the others",
                self.patience.as_secs_f64()
            ))),
        }
    }
}

/// The error of a rank that others do not answer.
pub(crate) fn lost(message: String) -> Error {
    Error::new(ErrorKind::Limit, message)
        .remedy("see what the other ranks have written, and start again; FLUVIAL_DIST_TIMEOUT sets the seconds")
}
