//! What a run tells of itself on the way, for `fluvial view`: event files in a folder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fluvial_view::events::{Usage, Writer};
use serde_json::{Value as Json, json};

use crate::fault::{self, Outcome, usage};
use crate::out::Out;

/// The journal of a run. Clones write to the same file.
#[derive(Clone)]
pub struct Journal {
    folder: PathBuf,
    out: Out,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    /// Nothing is written any more once that has failed.
    writer: Option<Writer>,
    /// The trips of loops that are over, or that a run before this one has made.
    n_before: i64,
    step: i64,
    usage: Usage,
}

impl Journal {
    /// Begins a journal in a folder. A run that goes on has made `n_before` trips already.
    pub fn new(
        folder: &Path,
        settings: &Json,
        n_before: Option<u64>,
        out: &Out,
    ) -> Outcome<Journal> {
        if folder == Path::new("-") || folder.is_file() {
            let what = format!("`{}` is not a folder", folder.display());
            return Err(usage(
                what,
                "name a folder for the curves of the run; `--trace FILE` writes each step as text",
            ));
        }
        let writer = Writer::new(folder).map_err(|error| fault::file(folder, error))?;
        let step = n_before.and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
        let writer = Some(writer.patient());
        let inner = Inner { writer, n_before: step, step, usage: Usage::default() };
        let inner = Arc::new(Mutex::new(inner));
        let journal = Journal { folder: folder.to_path_buf(), out: out.clone(), inner };
        journal.write(|writer, _| writer.config(settings));
        match n_before {
            Some(step) => journal.event("resume", &format!("the run goes on from step {step}")),
            None => journal.event("start", "the run begins"),
        }
        Ok(journal)
    }

    /// Tells the numbers that a loop inside of another one carries; its trips are counted apart.
    pub fn numbers_at(&self, n_trips: u64, numbers: &[(&str, f64)]) {
        if !numbers.is_empty() {
            let numbers = numbers.iter().map(|(name, x)| (*name, *x as f32));
            self.write(|writer, _| writer.scalars(numbers, n_trips as i64));
        }
    }

    /// Tells the numbers that a loop carries after so many trips, and from time to time what the run takes of the
    /// machine.
    pub fn numbers(&self, n_trips: u64, numbers: &[(&str, f64)]) {
        let usage = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.step = inner.n_before + n_trips as i64;
            inner.usage.look()
        };
        if numbers.is_empty() && usage.is_empty() {
            return;
        }
        let numbers = numbers.iter().map(|(name, x)| (*name, *x as f32));
        self.write(|writer, step| writer.scalars(numbers.chain(usage), step));
    }

    /// A loop has come to its end; the next one counts on.
    pub fn loop_ends(&self, n_trips: u64) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.n_before += n_trips as i64;
        inner.step = inner.n_before;
    }

    /// Tells that something has happened.
    pub fn event(&self, kind: &str, text: &str) {
        self.write(|writer, step| {
            writer.text(&format!("events/{kind}"), text, step)?;
            writer.flush()
        });
    }

    /// A journal that cannot be written is told once, and the run goes on.
    fn write(&self, f: impl FnOnce(&mut Writer, i64) -> std::io::Result<()>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let step = inner.step;
        let Some(writer) = &mut inner.writer else { return };
        if let Err(error) = f(writer, step) {
            inner.writer = None;
            let text =
                format!("`{}`: {error}; the rest of the run is not logged", self.folder.display());
            self.out
                .error(&format!("warning: {text}"), json!({"event": "warning", "message": text}));
        }
    }
}
