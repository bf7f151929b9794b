//! Checkpoints: everything that a run needs to go on, in a file.
//!
//! A checkpoint is a `.safetensors` file. The states have their names as keys, so that the weights of a run under
//! way can be used elsewhere; other tensors are called by numbers. A note in the header says what each is, and what the
//! run began with. A run has a number of its own, which its checkpoints have, too; a folder belongs to one run, and is
//! locked while it runs.

mod begun;
mod due;
mod file;
mod folder;
mod parts;
mod ranks;

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fluvial_core::{Error, ErrorKind, Result, Role, State, Value};

use crate::attach::Start;
use crate::executor::{Executor, Outcome};
use crate::observe::Observer;
use crate::plan::{Suspension, Trip};
use begun::Begun;
use due::Due;
pub use ranks::OtherRanks;

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
#[derive(Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    steps: Option<u64>,
    time: Option<Duration>,
    keep: usize,
    /// Whether a run that is stopped writes one.
    at_stop: bool,
    /// Asked before each is written whether it still may be.
    guard: Option<Guard>,
    /// Asked before steps in which ranks exchange whether all of them stop here.
    together: Option<Together>,
    given: Vec<String>,
    tell: Teller,
}

/// See [`Checkpoints::guard`].
type Guard = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// See [`Checkpoints::stop_together`].
type Together = Arc<dyn Fn(Option<u64>) -> Result<Agreed> + Send + Sync>;

/// What the ranks of a run agree on before a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// All of them stop here.
    pub stops: bool,
    /// The step of the latest checkpoint of each of them, if it is the same.
    pub saved: Option<u64>,
}

/// Who is told of a [`Notice`].
type Teller = Arc<dyn Fn(&Notice<'_>) + Send + Sync>;

/// What somebody should know of a run that writes checkpoints.
#[non_exhaustive]
pub enum Notice<'a> {
    /// The run goes on from this checkpoint, after so many steps.
    Resumed(&'a Path, u64),
    /// The run was to go on, but there is no checkpoint in this folder: it starts at its beginning.
    FromTheStart(&'a Path),
    /// A checkpoint cannot be read; an older one takes its place.
    Damaged(&'a Error),
    /// A checkpoint could not be written. The run goes on, and tries again later.
    NotWritten(&'a Error),
    /// The checkpoint does not say what the run began with, so that this cannot be compared.
    Unknown(&'a Path),
}

impl Notice<'_> {
    /// Whether something went wrong.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Notice::Resumed(..) | Notice::FromTheStart(_))
    }
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Resumed(path, step) => {
                write!(f, "the run goes on after step {step}, from `{}`", path.display())
            }
            Notice::FromTheStart(folder) => write!(
                f,
                "there is no checkpoint in `{}`: the run starts at its beginning",
                folder.display()
            ),
            Notice::Damaged(error) => {
                write!(f, "a checkpoint is left out, and the one before it is taken: {error}")
            }
            Notice::NotWritten(error) => write!(
                f,
                "a checkpoint could not be written; the run goes on, and will try again: {error}"
            ),
            Notice::Unknown(path) => write!(
                f,
                "`{}` is of an older version: whether settings, inputs and data are those that the run began with cannot be told",
                path.display()
            ),
        }
    }
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checkpoints { folder, steps, time, keep, given, .. } = self;
        f.debug_struct("Checkpoints")
            .field("folder", folder)
            .field("steps", steps)
            .field("time", time)
            .field("keep", keep)
            .field("given", given)
            .finish_non_exhaustive()
    }
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
            at_stop: true,
            guard: None,
            together: None,
            given: Vec::new(),
            tell: Arc::new(|notice| {
                if notice.is_warning() {
                    eprintln!("warning: {notice}");
                }
            }),
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

    /// So many are kept; at least one. Damaged ones do not count.
    #[must_use]
    pub fn keep(mut self, count: usize) -> Checkpoints {
        self.keep = count.max(1);
        self
    }

    /// A run that is stopped writes none: where it stops is not where the other ranks of it do, while steps are the same.
    #[must_use]
    pub fn not_when_stopped(mut self) -> Checkpoints {
        self.at_stop = false;
        self
    }

    /// Asks before each checkpoint is written whether this run still may; an error ends it.
    #[must_use]
    pub fn guard(mut self, may: impl Fn() -> Result<()> + Send + Sync + 'static) -> Checkpoints {
        self.guard = Some(Arc::new(may));
        self
    }

    /// Asks before each step of a loop in which ranks exchange whether to stop there. All ranks are asked before the same
    /// steps, and have to be given the same answer. Then each writes a checkpoint, and ends as one that is stopped.
    ///
    /// Each brings the step of the latest checkpoint that it has. The latest one that all of them have is kept until there
    /// is another: a rank that cannot write for a while, since its disk is full, does not cost the others theirs.
    #[must_use]
    pub fn stop_together(
        mut self,
        agree: impl Fn(Option<u64>) -> Result<Agreed> + Send + Sync + 'static,
    ) -> Checkpoints {
        self.together = Some(Arc::new(agree));
        self
    }

    /// The states that have got a value for this run. A run that goes on has the values of its checkpoint, so these are
    /// only compared with what it began with: others are an error.
    #[must_use]
    pub fn given(mut self, states: impl IntoIterator<Item = String>) -> Checkpoints {
        self.given = states.into_iter().collect();
        self
    }

    /// Tells of what somebody should know. By default warnings go to standard error.
    #[must_use]
    pub fn tell(mut self, tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Checkpoints {
        self.tell = Arc::new(tell);
        self
    }

    /// Whether a run can write its checkpoints to the folder, found out before it starts: an error if it cannot be
    /// written to, if another run uses it now, or, unless the run is to `go_on`, if it has checkpoints.
    pub fn check(&self, go_on: bool) -> Result<()> {
        let _claim = self.claim()?;
        if !go_on {
            self.check_unused()?;
        }
        Ok(())
    }
}

/// A run under way, as data: its states and where it was suspended.
pub struct Checkpoint {
    /// The number of steps made.
    pub step: u64,
    /// Which run it is of; zero for those of older versions.
    pub run: u64,
    /// Which program it is of.
    program: u64,
    /// What the run began with, if it says so.
    begun: Option<Begun>,
    states: Vec<(Arc<str>, Role, Value)>,
    suspension: Suspension,
}

impl Checkpoint {
    /// Gives a scope the states.
    pub fn restore(&self, state: &State) -> Result<()> {
        for (name, role, value) in &self.states {
            state.insert(name, *role, value.clone())?;
        }
        Ok(())
    }

    /// An error if it is not of this program.
    fn check_program(&self, executor: &Executor, folder: &Path) -> Result<()> {
        let program = &executor.compiled().program;
        let expected = match self.begun {
            Some(_) => program.fingerprint_of_run(),
            // Older versions took another number of epochs for another program.
            None => program.fingerprint(),
        };
        match self.program == expected {
            true => Ok(()),
            false => Err(Error::program("the checkpoint is of another program")
                .note(format!("in `{}`", folder.display()))
                .remedy("start again in another folder, or load its states by their names")),
        }
    }
}

/// The states of a scope that have values.
fn states_of(state: &State) -> Result<Vec<(Arc<str>, Role, Value)>> {
    let mut states = Vec::new();
    for (name, cell) in state.cells() {
        if let (Some(decl), Some(var)) = (cell.declaration(), cell.get()) {
            states.push((name, decl.role, var.value()?.clone()));
        }
    }
    Ok(states)
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
        let _claim = checkpoints.claim()?;
        let latest = match go_on {
            true => checkpoints.latest_told()?,
            false => checkpoints.check_unused().map(|()| None)?,
        };
        checkpoints.remove_drafts();
        let due =
            Due::new(checkpoints, self, latest.as_ref().map(|(_, checkpoint)| checkpoint.step));
        let is_wanted = Cell::new(false);
        let either = |trip: &Trip<'_>| {
            is_wanted.set(wanted(trip));
            due.at(trip) || is_wanted.get()
        };
        let (mut start, run, begun, mut last) = match latest {
            Some((path, latest)) => {
                latest.check_program(self, &checkpoints.folder)?;
                match &latest.begun {
                    Some(begun) => begun.check(self, &start, &checkpoints.given)?,
                    None => (checkpoints.tell)(&Notice::Unknown(&path)),
                }
                latest.restore(self.state())?;
                let begun = match latest.begun {
                    Some(begun) => begun,
                    None => Begun::unknown(self)?,
                };
                (checkpoints.tell)(&Notice::Resumed(&path, latest.step));
                (Start::Suspension(latest.suspension), latest.run, begun, Some(path))
            }
            None => {
                if go_on {
                    (checkpoints.tell)(&Notice::FromTheStart(&checkpoints.folder));
                }
                self.initialise()?;
                let begun = Begun::of(self, &start)?;
                (start, folder::new_run(), begun, None)
            }
        };
        let program = self.compiled().program.fingerprint_of_run();
        let mut begun = Some(begun);
        loop {
            let suspension = match self.run_until(start, observer, &either)? {
                Outcome::Suspended(suspension) if suspension.is_stop || !is_wanted.get() => {
                    suspension
                }
                outcome => return Ok(outcome),
            };
            if let Some(fault) = due.fault.take() {
                return Err(fault);
            }
            let (step, together) = (due.step.get(), due.stops.get());
            let is_stop = suspension.is_stop || together;
            if suspension.is_stop && !checkpoints.at_stop {
                return Err(stopped(suspension.reason, step, None, last.as_deref()));
            }
            let states = states_of(self.state())?;
            let mut checkpoint = Checkpoint { step, run, program, begun, states, suspension };
            let written = checkpoints.write(&checkpoint, due.common.get());
            if let (Err(error), true) = (&written, together) {
                return Err(error.clone());
            }
            if is_stop {
                return Err(stopped(
                    checkpoint.suspension.reason,
                    step,
                    Some(written),
                    last.as_deref(),
                ));
            }
            match written {
                Ok(path) => {
                    due.written();
                    last = Some(path);
                }
                Err(error) if error.kind() == ErrorKind::File => {
                    (checkpoints.tell)(&Notice::NotWritten(&error));
                    due.failed();
                }
                Err(error) => return Err(error),
            }
            begun = checkpoint.begun.take();
            start = Start::Suspension(checkpoint.suspension);
        }
    }
}

/// The error of a run that was stopped, by somebody or by a limit.
fn stopped(
    reason: Option<Error>,
    step: u64,
    written: Option<Result<PathBuf>>,
    last: Option<&Path>,
) -> Error {
    let error = match reason {
        Some(reason) if reason.kind() != ErrorKind::Interrupted => {
            reason.note(format!("after step {step}"))
        }
        _ => Error::new(ErrorKind::Interrupted, format!("stopped on request after step {step}"))
            .remedy("resume to go on"),
    };
    match (written, last) {
        (None, Some(last)) => error.note(format!("the last checkpoint is {}", last.display())),
        (None, None) => error.note("there is no checkpoint yet"),
        (Some(Ok(path)), _) => error.note(format!("a checkpoint was written: {}", path.display())),
        (Some(Err(fault)), Some(last)) => error
            .note(format!("its checkpoint could not be written: {fault}"))
            .note(format!("the last one is {}", last.display())),
        (Some(Err(fault)), None) => error
            .note(format!("its checkpoint could not be written: {fault}"))
            .note("there is none from before"),
    }
}
