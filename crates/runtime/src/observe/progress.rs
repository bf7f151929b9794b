//! Saying how far a run has come.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fluvial_core::{Error, Loc, Result, Value};

use super::{Observer, Step};

/// Writes now and then how many trips the outermost loop has made, how many a second, and the numbers that it
/// carries.
pub struct Progress<W> {
    every: Duration,
    inner: Mutex<Inner<W>>,
}

struct Inner<W> {
    to: W,
    /// The loop under way, and when it began.
    running: Option<(Loc, Instant)>,
    n_trips: u64,
    /// When something was written last, and the trips at that time.
    written: Option<(Instant, u64)>,
}

impl<W: Write + Send> Progress<W> {
    /// Writes to `to`, twice a second.
    pub fn new(to: W) -> Progress<W> {
        let inner = Inner { to, running: None, n_trips: 0, written: None };
        Progress { every: Duration::from_millis(500), inner: Mutex::new(inner) }
    }

    /// Writes no more often than this.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Progress<W> {
        self.every = every;
        self
    }

    /// What it has written to.
    pub fn into_inner(self) -> W {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).to
    }
}

impl<W: Write> Inner<W> {
    fn write(&mut self, carried: &[Value]) -> Result<()> {
        let now = Instant::now();
        let Some((loc, began)) = self.running else { return Ok(()) };
        let (since, before) = self.written.unwrap_or((began, 0));
        let rate = (self.n_trips - before) as f64 / (now - since).as_secs_f64().max(1e-9);
        self.written = Some((now, self.n_trips));
        let seconds = (now - began).as_secs_f64();
        let mut line = format!("{loc}: {} trips, {rate:.0}/s, {seconds:.1} s", self.n_trips);
        for value in carried {
            if let Value::Tensor(tensor) = value
                && tensor.numel() == 1
                && !tensor.dtype().is_bool()
            {
                line.push_str(&format!("  {:.6}", tensor.to_f64s()[0]));
            }
        }
        writeln!(self.to, "{line}")
            .map_err(|error| Error::argument(format!("cannot write the progress: {error}")))
    }
}

impl<W: Write + Send> Observer for Progress<W> {
    fn before(&self, step: &Step<'_>, _: &[&Value]) -> Result<()> {
        if step.depth == 0 && step.op.carries().is_some() {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.running = Some((step.loc, Instant::now()));
            (inner.n_trips, inner.written) = (0, None);
        }
        Ok(())
    }

    fn leave(&self, step: &Step<'_>, _: usize, results: &[Value]) -> Result<()> {
        if step.depth > 0 {
            return Ok(());
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, began)) = inner.running else { return Ok(()) };
        inner.n_trips += 1;
        let last = inner.written.map_or(began, |(at, _)| at);
        if last.elapsed() >= self.every { inner.write(results) } else { Ok(()) }
    }

    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if step.depth == 0 && step.op.carries().is_some() && inner.running.is_some() {
            inner.write(outputs)?;
            inner.running = None;
        }
        Ok(())
    }
}
