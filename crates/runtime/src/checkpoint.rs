//! Checkpoints: everything that a run needs to go on, in a file.
//!
//! A checkpoint is a `.safetensors` file. The states have their names as keys, so that the weights of a run under
//! way can be used elsewhere; other tensors are called by numbers. A note in the header says what each is.

mod file;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluvial_core::{Error, ErrorKind, Result, Role, State, Value};
use fluvial_data::files;

use crate::attach::Start;
use crate::executor::{Executor, Outcome};
use crate::observe::Observer;
use crate::plan::{Suspension, Trip};

/// Where and how often a run writes checkpoints.
///
/// ```no_run
/// use fluvial_core::{Program, State};
/// use fluvial_runtime::{Checkpoints, Executor};
/// # let program = Program::default();
/// let checkpoints = Checkpoints::new("runs/7").every_steps(1000).keep(3);
/// let outputs = Executor::new(&program, State::new())?.call().checkpoints(&checkpoints, true).run()?;
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    steps: Option<u64>,
    time: Option<Duration>,
    keep: usize,
}

impl Checkpoints {
    /// In a folder, which is made if there is none. Without further words, checkpoints are written every five
    /// minutes and when the run is stopped, and the last two are kept.
    pub fn new(folder: impl Into<PathBuf>) -> Checkpoints {
        Checkpoints {
            folder: folder.into(),
            steps: None,
            time: Some(Duration::from_secs(300)),
            keep: 2,
        }
    }

    /// One after so many steps. A step is a trip of a loop over a reader that stands in no other such loop;
    /// in a program without readers, a trip of an outermost loop.
    #[must_use]
    pub fn every_steps(mut self, steps: u64) -> Checkpoints {
        (self.steps, self.time) = (Some(steps.max(1)), None);
        self
    }

    /// One after so much time.
    #[must_use]
    pub fn every(mut self, time: Duration) -> Checkpoints {
        (self.steps, self.time) = (None, Some(time));
        self
    }

    /// So many are kept; at least one.
    #[must_use]
    pub fn keep(mut self, count: usize) -> Checkpoints {
        self.keep = count.max(1);
        self
    }

    /// The checkpoints in the folder, the latest first, with their steps.
    pub fn list(&self) -> Result<Vec<(u64, PathBuf)>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(file::io(&self.folder, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| file::io(&self.folder, error))?.path();
            let step = path.file_name().and_then(|name| {
                let name = name.to_str()?.strip_prefix("step-")?.strip_suffix(".safetensors")?;
                name.parse().ok()
            });
            found.extend(step.map(|step| (step, path)));
        }
        found.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        Ok(found)
    }

    /// The latest checkpoint that can be read, and why later ones cannot.
    pub fn latest(&self) -> Result<(Option<Checkpoint>, Vec<Error>)> {
        let mut faults = Vec::new();
        for (_, path) in self.list()? {
            match Checkpoint::read(&path) {
                Ok(checkpoint) => return Ok((Some(checkpoint), faults)),
                Err(fault) => faults.push(fault),
            }
        }
        Ok((None, faults))
    }

    /// Removes what a run left that was ended while it wrote.
    fn remove_drafts(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_draft = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(files::is_draft)
        };
        for path in entries.map(|entry| entry.path()).filter(is_draft) {
            let _ = fs::remove_file(path);
        }
    }

    /// Writes a checkpoint, then removes the oldest ones.
    fn write(&self, checkpoint: &Checkpoint) -> Result<PathBuf> {
        let path = self.folder.join(format!("step-{:012}.safetensors", checkpoint.step));
        checkpoint.write(&path)?;
        for (_, old) in self.list()?.into_iter().skip(self.keep) {
            // Somebody else may have removed it.
            let _ = fs::remove_file(old);
        }
        Ok(path)
    }
}

/// A run under way, as data: its states and where it was suspended.
pub struct Checkpoint {
    /// The number of steps made.
    pub step: u64,
    /// Which program it is of.
    program: u64,
    states: Vec<(Arc<str>, Role, Value)>,
    suspension: Suspension,
}

impl Checkpoint {
    fn new(step: u64, program: u64, state: &State, suspension: Suspension) -> Result<Checkpoint> {
        let mut states = Vec::new();
        for (name, cell) in state.cells() {
            if let (Some(decl), Some(var)) = (cell.declaration(), cell.get()) {
                states.push((name, decl.role, var.value()?.clone()));
            }
        }
        Ok(Checkpoint { step, program, states, suspension })
    }

    /// Gives a scope the states.
    pub fn restore(&self, state: &State) -> Result<()> {
        for (name, role, value) in &self.states {
            state.insert(name, *role, value.clone())?;
        }
        Ok(())
    }
}

impl Executor {
    /// Runs from `start`, or from the latest checkpoint if it is to `go_on`, and writes checkpoints on the way.
    pub(crate) fn run_checkpointed(
        &self,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
        checkpoints: &Checkpoints,
        go_on: bool,
    ) -> Result<Outcome> {
        let program = self.compiled().program.fingerprint();
        let latest = if go_on { checkpoints.latest()? } else { (None, Vec::new()) };
        let (latest, mut faults) = latest;
        if latest.is_none() && !faults.is_empty() {
            return Err(faults.swap_remove(0));
        }
        checkpoints.remove_drafts();
        let due = Due::new(checkpoints, self, latest.as_ref().map(|latest| latest.step));
        let is_wanted = Cell::new(false);
        let either = |trip: &Trip<'_>| {
            is_wanted.set(wanted(trip));
            due.at(trip) || is_wanted.get()
        };
        let mut start = match latest {
            Some(latest) => {
                if latest.program != program {
                    return Err(Error::program("the checkpoint is of another program")
                        .note(format!("in `{}`", checkpoints.folder.display()))
                        .remedy(
                            "start again in another folder, or load its states by their names",
                        ));
                }
                latest.restore(self.state())?;
                Start::Suspension(latest.suspension)
            }
            None => start,
        };
        loop {
            let suspension = match self.run_until(start, observer, &either)? {
                Outcome::Suspended(suspension) if suspension.is_stop || !is_wanted.get() => {
                    suspension
                }
                outcome => return Ok(outcome),
            };
            let is_stop = suspension.is_stop;
            let checkpoint = Checkpoint::new(due.step.get(), program, self.state(), suspension)?;
            let path = checkpoints.write(&checkpoint)?;
            due.written();
            if is_stop {
                return Err(stopped(due.step.get(), &path));
            }
            start = Start::Suspension(checkpoint.suspension);
        }
    }
}

fn stopped(step: u64, path: &Path) -> Error {
    Error::new(ErrorKind::Interrupted, format!("stopped on request after step {step}"))
        .note(format!("a checkpoint was written: {}", path.display()))
        .remedy("resume to go on")
}

/// When the next checkpoint is due.
struct Due<'a> {
    checkpoints: &'a Checkpoints,
    has_readers: bool,
    /// The number of steps made.
    step: Cell<u64>,
    /// Whether a step is under way.
    is_begun: Cell<bool>,
    /// The steps and the time of the last checkpoint.
    last: Cell<(u64, Instant)>,
}

impl<'a> Due<'a> {
    /// For a run from the start, or for one that is taken up within a step after `resumed`.
    fn new(checkpoints: &'a Checkpoints, executor: &Executor, resumed: Option<u64>) -> Due<'a> {
        let has_readers = reads(&executor.compiled().program.main);
        let step = resumed.unwrap_or(0);
        Due {
            checkpoints,
            has_readers,
            step: Cell::new(step),
            is_begun: Cell::new(resumed.is_some()),
            last: Cell::new((step, Instant::now())),
        }
    }

    /// Whether to write one before this trip. The step that began with the trip before is over.
    fn at(&self, trip: &Trip<'_>) -> bool {
        let is_step = match self.has_readers {
            true => trip.step.op.reader().is_some() && trip.readers == 1,
            false => trip.step.depth == 0,
        };
        if !is_step {
            return false;
        }
        if self.is_begun.replace(true) {
            self.step.set(self.step.get() + 1);
        }
        let (step, time) = self.last.get();
        let by_steps = self.checkpoints.steps.is_some_and(|n| self.step.get() >= step + n);
        let by_time = self.checkpoints.time.is_some_and(|most| time.elapsed() >= most);
        (by_steps || by_time) && self.step.get() > step
    }

    fn written(&self) {
        // The trip that was suspended begins again without asking.
        self.last.set((self.step.get(), Instant::now()));
    }
}

/// Whether a loop over a reader stands in the block.
fn reads(block: &fluvial_core::Block) -> bool {
    block
        .calls
        .iter()
        .any(|call| call.op.reader().is_some() || call.op.blocks().iter().any(|block| reads(block)))
}
