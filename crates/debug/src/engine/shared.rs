//! What the program's thread and those of front ends share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fluvial_core::{Block, Call, Loc, Result, Value, ValueId};
use fluvial_runtime::Executor;

use super::blocks::{each_part, is_step, lines_of};
use super::each_call;
use super::halt::Paused;
use super::listing::Lines;
use super::points::{Point, meant};
use super::pos::Pos;
use super::source::locate;
use crate::target::{Event, Go, Output, Place, ProgramInfo, Stop};

/// What the threads share.
pub struct Shared {
    control: Mutex<Control>,
    subscribers: Mutex<Vec<Sender<Event>>>,
    /// Held while a program is met for the first time: other threads that run it wait until breakpoints know it.
    pub meeting: Mutex<()>,
    /// Grows when breakpoints change.
    pub generation: AtomicU64,
    /// Whether to stop as soon as possible.
    pub pause: AtomicBool,
}

/// What is said and known.
#[derive(Default)]
pub struct Control {
    pub points: Vec<Point>,
    pub programs: Vec<Arc<Known>>,
    pub edits: Vec<Edit>,
    /// How many stops there were.
    pub n_stops: u64,
    /// How many breakpoints the user's code has set.
    pub n_own: u32,
    /// Whether the first op is to be a stop.
    pub wants_entry: bool,
    /// Grows whenever somebody begins or ceases to debug. A run that began in another session is left alone.
    pub session: u64,
    /// Whether somebody debugs.
    pub is_attached: bool,
    /// The threads that have runs, by number.
    pub threads: BTreeMap<u32, Thread>,
    /// The thread that is looked at.
    pub chosen: Option<u32>,
    /// The only thread that is to pause, if there is one.
    pub pauses: Option<u32>,
}

/// A thread that has runs.
#[derive(Default)]
pub struct Thread {
    pub name: String,
    pub stop: Option<Arc<Stop>>,
    /// To the thread while it is stopped.
    pub asks: Option<Sender<Ask>>,
    /// Whether a run is under way.
    pub is_running: bool,
    /// Whether that run is to be ended.
    pub quits: bool,
}

impl Control {
    /// The session that runs belong to that begin now; 0 if nobody debugs.
    pub fn open_session(&self) -> u64 {
        if self.is_attached { self.session } else { 0 }
    }

    /// Who debugs is gone, or comes: what was begun for somebody else is left alone.
    pub fn turn_over(&mut self, is_attached: bool) {
        self.session += 1;
        self.is_attached = is_attached;
        (self.chosen, self.pauses) = (None, None);
    }

    /// The number of the stopped thread that is looked at: the chosen one, or the first.
    pub fn stopped_thread(&self) -> Option<u32> {
        let is_stopped =
            |number: &u32| self.threads.get(number).is_some_and(|thread| thread.asks.is_some());
        let mut all = self.threads.keys().copied();
        self.chosen.filter(is_stopped).or_else(|| all.find(is_stopped))
    }

    /// To the stopped thread that is looked at.
    pub fn asks(&self) -> Option<Sender<Ask>> {
        self.threads.get(&self.stopped_thread()?)?.asks.clone()
    }

    /// What is known of a program.
    pub fn known(&self, executor: &Executor) -> Option<Arc<Known>> {
        self.programs.iter().find(|known| known.is(executor)).cloned()
    }

    /// Whether a thread is to pause.
    pub fn is_to_pause(&self, thread: u32) -> bool {
        self.pauses.is_none_or(|wanted| wanted == thread)
    }
}

/// What is asked of a thread that is stopped.
pub enum Ask {
    /// To look at something.
    Look(Look),
    /// To go on.
    Go(Go),
}

/// Looks at what is stopped.
pub type Look = Box<dyn for<'a, 'b, 'c> FnOnce(&'c mut Paused<'a, 'b>) + Send>;

/// A program that has run.
pub struct Known {
    pub info: ProgramInfo,
    pub executor: Executor,
    /// All lines at which ops were made, in order and without repetitions.
    pub places: Vec<(Arc<str>, u32)>,
    /// The lines at which steps of the forward half were made, by a function that the line calls, too.
    pub lines: Vec<(Arc<str>, u32)>,
    /// How many blocks the innermost ops of a line stand in. What was moved out of loops does not count.
    pub depths: HashMap<(Arc<str>, u32), usize>,
    pub source: Lines,
    pub compiled: Lines,
    /// Whether it has loops over readers.
    pub has_readers: bool,
}

/// A value that was set by hand.
#[derive(Clone)]
pub struct Edit {
    /// The thread, by its number.
    pub thread: u32,
    pub pos: Pos,
    pub what: Edited,
    pub text: String,
}

/// What was set.
#[derive(Clone)]
pub enum Edited {
    /// A value of the innermost block.
    Value(ValueId, Value),
    /// An output of the step that has run.
    Output(usize, Value),
    /// A state.
    State(Arc<str>, Value),
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            control: Mutex::default(),
            subscribers: Mutex::default(),
            meeting: Mutex::default(),
            generation: AtomicU64::new(1),
            pause: AtomicBool::new(false),
        }
    }
}

impl Shared {
    /// What is said and known. Nobody holds it for long.
    pub fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens from now on.
    pub fn subscribe(&self) -> Receiver<Event> {
        let (to, from) = channel();
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner).push(to);
        from
    }

    /// Tells all who want to know.
    pub fn emit(&self, event: &Event) {
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|to| to.send(event.clone()).is_ok());
    }

    /// Tells a remark.
    pub fn note(&self, text: impl Into<String>, loc: Loc) {
        self.emit(&Event::Output { text: text.into(), kind: Output::Note, place: place(loc) });
    }

    /// Says that breakpoints are others now.
    pub fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// A place of the user's source.
pub fn place(loc: Loc) -> Option<Place> {
    let file = loc.file();
    let is_known = loc.is_known() && !file.is_empty();
    let file = locate(&file).map_or(file, |path| path.display().to_string().into());
    is_known.then(|| Place { file, line: loc.line(), column: loc.column(), listing: None })
}

impl Known {
    /// A program that is about to run, under this number.
    pub fn new(number: u32, executor: &Executor) -> Known {
        let mut places = Vec::new();
        let compiled = &executor.compiled().program;
        let mut depths = HashMap::new();
        collect(&compiled.main, 0, &mut depths);
        places.extend(depths.keys().cloned());
        places.sort();
        let mut lines = BTreeSet::new();
        each_call(&compiled.main, &mut |call| {
            each_part(call, &mut |part| {
                if is_step(part)
                    && part.loc.is_known()
                    && part.loc.phase() == fluvial_core::Phase::Forward
                {
                    lines.extend(lines_of(part.loc).map(|loc| (loc.file(), loc.line())));
                }
            });
        });
        let name = name(executor, &places);
        Known {
            info: ProgramInfo { number, name },
            executor: executor.clone(),
            places,
            lines: lines.into_iter().collect(),
            depths,
            source: Lines::of(executor.source()),
            compiled: Lines::of(compiled),
            has_readers: reads(&compiled.main),
        }
    }

    /// The states that are meant by a name.
    pub fn states(&self, name: &str) -> Vec<Arc<str>> {
        meant(self.executor.source().states.keys(), name)
    }

    /// Whether it is this program.
    pub fn is(&self, executor: &Executor) -> bool {
        std::ptr::eq(self.executor.compiled(), executor.compiled())
    }
}

/// The lines of a block and of those in it, and how deep they are. Backward ops stand on the lines of others.
fn collect(block: &Block, depth: usize, depths: &mut HashMap<(Arc<str>, u32), usize>) {
    for call in &block.calls {
        each_part(call, &mut |part| {
            let loc = part.loc;
            if is_step(part) && loc.is_known() && loc.phase() != fluvial_core::Phase::Backward {
                let deepest = depths.entry((loc.file(), loc.line())).or_default();
                *deepest = depth.max(*deepest);
            }
        });
        call.op.blocks().iter().for_each(|inner| collect(inner, depth + 1, depths));
    }
}

/// Whether a loop over a reader stands in a block.
pub fn reads(block: &Block) -> bool {
    let in_call = |call: &Call| {
        call.op.reader().is_some() || call.op.blocks().iter().any(|inner| reads(inner))
    };
    block.calls.iter().any(in_call)
}

/// What to call a program: by the function that it was made of, or its file, and by what it gives.
fn name(executor: &Executor, places: &[(Arc<str>, u32)]) -> String {
    let outermost = |call: &Call| {
        let locs = std::iter::successors(Some(call.loc), |loc| loc.parent());
        locs.filter_map(|loc| loc.function()).last()
    };
    let function = executor.source().main.calls.iter().find_map(outermost);
    let file = || {
        let (file, _) = places.first()?;
        Some(file.rsplit(['/', '\\']).next().unwrap_or(file).to_string())
    };
    let name = function.map(|function| function.to_string()).or_else(file);
    // Outputs that have numbers for names say nothing.
    let is_name = |output: &&Arc<str>| {
        output.strip_prefix("out").is_none_or(|number| number.parse::<u32>().is_err())
    };
    let outputs: Vec<&str> =
        executor.source().outputs.iter().filter(is_name).map(|output| &**output).collect();
    match (name, outputs.is_empty()) {
        (Some(name), true) => name,
        (Some(name), false) => format!("{name}: {}", outputs.join(", ")),
        (None, true) => "program".into(),
        (None, false) => outputs.join(", "),
    }
}

/// What a person is told when nothing is stopped.
pub fn not_stopped() -> fluvial_core::Error {
    fluvial_core::Error::state("the program is not stopped").remedy("pause it, or set a breakpoint")
}

impl Shared {
    /// Lets the stopped thread look at something, and waits for what it finds.
    pub fn look<T: Send + 'static>(
        &self,
        f: impl for<'a, 'b, 'c> FnOnce(&'c mut Paused<'a, 'b>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let asks = self.control().asks().ok_or_else(not_stopped)?;
        let (to, from) = channel();
        // The run must not end because somebody looks at it.
        let look: Look = Box::new(move |paused| {
            let found = catch_unwind(AssertUnwindSafe(|| f(paused)));
            let fault =
                || fluvial_core::Error::internal("the debugger failed at what was asked of it");
            drop(to.send(found.unwrap_or_else(|_| Err(fault()))));
        });
        asks.send(Ask::Look(look)).map_err(|_| not_stopped())?;
        from.recv().map_err(|_| not_stopped())?
    }
}
