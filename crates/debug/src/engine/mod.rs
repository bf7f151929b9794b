//! The program's side of the debugger.
//!
//! - `conduct`: runs come here, and are run in stretches between snapshots; going back is running again from one.
//! - `lane`: told of every step, decides where to stop, with `mode` and `checks`. `stack`, `blocks`, `pos`: where a run is, and what its values are.
//! - `points`: breakpoints. `source`: what the user's lines call values. `listing`: programs as text.
//! - `halt`: a program that is stopped waits here. `view`, `look`: what can be seen and set then.
//! - `history`: snapshots. `loss`: when a loss is too high. `shared`: between the program's thread and others.

mod blocks;
mod checks;
mod conduct;
mod halt;
mod history;
mod lane;
mod listing;
mod look;
mod loss;
mod mode;
mod points;
mod pos;
mod shared;
mod source;
mod stack;
mod view;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use fluvial_core::{Block, Error, Result, Value};
use fluvial_runtime::attach;

use crate::target::{
    Breakpoint, Evaluated, Event, Go, Listing, On, ProgramInfo, Scope, ScopeKind, Stop, Target,
    Variable, Verdict,
};
use blocks::each_part;
use conduct::Director;
use points::{Point, names, same_file, verdict};
use shared::{Ask, Known, Leaving, Shared, not_stopped};

/// Debugs the runs of this process, from when somebody asks for [`events`](Target::events) until he detaches.
pub struct Engine {
    shared: Arc<Shared>,
    director: Arc<Director>,
}

impl Engine {
    /// A debugger that does nothing yet. With `stop_on_entry`, the first op of the first run is a stop.
    pub fn new(stop_on_entry: bool) -> Arc<Engine> {
        let shared = Arc::new(Shared::default());
        shared.control().wants_entry = stop_on_entry;
        Arc::new(Engine { director: Arc::new(Director::new(shared.clone())), shared })
    }

    /// Takes all runs of this process: those that begin from now on, and those under way from the next trip of a
    /// loop on.
    fn attach(&self) {
        self.shared.control().leaving = None;
        attach::attach(self.director.clone());
    }

    /// Stops as soon as possible, when a program next runs.
    pub fn stop_next(&self) {
        self.shared.pause.store(true, Ordering::Relaxed);
    }

    /// Adds a breakpoint on the line of the user's own code that asked for it, beside those of front ends.
    pub fn break_at(&self, file: &str, line: u32) {
        let on = On::Line { file: file.into(), line };
        let (condition, hits, log) = (None, None, None);
        let spec = Breakpoint { id: OWN, on, condition, hits, log };
        self.shared.control().points.push(Point::new(spec));
        self.shared.settle_all();
    }

    /// Says that the process is about to end.
    pub fn end(&self) {
        self.shared.emit(&Event::Ended);
    }
}

/// The id of breakpoints that the user's code has set.
pub const OWN: u32 = u32::MAX;

/// What is to be said of a breakpoint, given the programs that are known.
fn verdict_of(point: &Point, programs: &[Arc<Known>]) -> Verdict {
    let is_met = match &point.spec.on {
        On::Name(pattern) => programs.iter().any(|known| has_name(known, pattern)),
        On::Change(name) => programs.iter().any(|known| computes(known, name)),
        On::Listed { listing: Listing::Compiled(number), line } => {
            let of_number = programs.iter().filter(|known| known.info.number == *number);
            let mut lines = of_number.flat_map(|known| known.compiled.of_block.values().flatten());
            lines.any(|known| known == line)
        }
        On::Listed { .. } => false,
        _ => true,
    };
    verdict(point, is_met)
}

/// Whether a program has an op, a layer or a value of that name.
fn has_name(known: &Known, pattern: &str) -> bool {
    fn any(block: &Block, pattern: &str) -> bool {
        let mut found = block.names.values().any(|name| points::is_like(pattern, name));
        for call in &block.calls {
            each_part(call, &mut |part| found |= names(pattern, part));
            found |= call.op.blocks().iter().any(|inner| any(inner, pattern));
        }
        found
    }
    any(&known.executor.compiled().program.main, pattern)
}

/// Whether a program has a state or a value of that name.
fn computes(known: &Known, name: &str) -> bool {
    let states = &known.executor.source().states;
    let is_state =
        states.keys().any(|state| points::ends_with(state, name.trim_start_matches('@')));
    is_state || {
        let mut sources = source::Sources::default();
        let assigns = |(file, line): &(Arc<str>, u32)| {
            sources.assigned(file, *line).is_some_and(|variable| &*variable == name)
        };
        has_name(known, name) || known.places.iter().any(assigns)
    }
}

impl Target for Engine {
    fn events(&self) -> Receiver<Event> {
        self.attach();
        self.shared.subscribe()
    }

    fn stopped(&self) -> Option<Arc<Stop>> {
        self.shared.control().stop.clone()
    }

    fn go(&self, how: Go) -> Result<()> {
        match how {
            Go::Pause => {
                if self.stopped().is_none() {
                    self.shared.pause.store(true, Ordering::Relaxed);
                }
                return Ok(());
            }
            Go::Quit if !self.shared.control().is_running => return Ok(()),
            Go::Detach | Go::Quit => {
                let leaving = if how == Go::Quit { Leaving::Quit } else { Leaving::Detach };
                self.shared.control().leaving = Some(leaving);
                self.shared.pause.store(false, Ordering::Relaxed);
                if how == Go::Detach {
                    attach::detach();
                }
                let asks = self.shared.control().asks.clone();
                // Where nothing is stopped, the next trip sees it.
                if let Some(asks) = asks {
                    let _ = asks.send(Ask::Go(how));
                }
                return Ok(());
            }
            _ => {}
        }
        let asks = self.shared.control().asks.take().ok_or_else(not_stopped)?;
        self.shared.control().stop = None;
        asks.send(Ask::Go(how)).map_err(|_| not_stopped())
    }

    fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) -> Vec<Verdict> {
        let verdicts = {
            let mut control = self.shared.control();
            let programs = control.programs.clone();
            let places: Vec<(Arc<str>, u32)> =
                programs.iter().flat_map(|known| known.places.clone()).collect();
            let mut old = std::mem::take(&mut control.points);
            let mut points: Vec<Point> = Vec::with_capacity(breakpoints.len());
            for spec in breakpoints {
                // Those that stay as they are keep their counts.
                let point = match old.iter().position(|point| point.spec == spec) {
                    Some(at) => old.swap_remove(at),
                    None => Point::new(spec),
                };
                points.push(point);
            }
            points.iter_mut().for_each(|point| points::settle(point, &places));
            let verdicts: Vec<Verdict> =
                points.iter().map(|point| verdict_of(point, &programs)).collect();
            points.extend(old.into_iter().filter(|point| point.spec.id == OWN));
            control.points = points;
            verdicts
        };
        self.shared.changed();
        verdicts
    }

    fn lines(&self, file: &str) -> Vec<u32> {
        let control = self.shared.control();
        let places = control.programs.iter().flat_map(|known| known.places.iter());
        let mut lines: Vec<u32> =
            places.filter(|(known, _)| same_file(known, file)).map(|(_, line)| *line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn programs(&self) -> Vec<ProgramInfo> {
        self.shared.control().programs.iter().rev().map(|known| known.info.clone()).collect()
    }

    fn listing(&self, listing: Listing) -> Result<String> {
        let number = match listing {
            Listing::Source(number) | Listing::Compiled(number) | Listing::Kernel(number) => number,
        };
        let known = self
            .shared
            .control()
            .programs
            .iter()
            .find(|known| known.info.number == number)
            .cloned();
        let Some(known) = known else {
            return Err(Error::argument(format!("there is no program {number}")));
        };
        match listing {
            Listing::Source(_) => Ok(known.source.text.clone()),
            Listing::Compiled(_) => Ok(known.compiled.text.clone()),
            Listing::Kernel(_) => self.shared.look(|paused| paused.kernel()),
        }
    }

    fn scopes(&self, frame: usize) -> Result<Vec<Scope>> {
        let _ = frame;
        self.shared.look(|paused| Ok(paused.scopes()))
    }

    fn variables(&self, frame: usize, scope: ScopeKind) -> Result<Vec<Variable>> {
        let _ = frame;
        self.shared.look(move |paused| Ok(paused.variables(scope)))
    }

    fn evaluate(&self, frame: usize, text: &str) -> Result<Evaluated> {
        let _ = frame;
        let text = text.to_string();
        self.shared.look(move |paused| paused.evaluate(&text))
    }

    fn set(
        &self,
        frame: usize,
        scope: Option<ScopeKind>,
        name: &str,
        index: &[usize],
        expression: &str,
    ) -> Result<Value> {
        let _ = (frame, scope);
        let (name, index) = (name.to_string(), index.to_vec());
        let expression = expression.to_string();
        self.shared.look(move |paused| paused.set(&name, &index, &expression))
    }

    fn names(&self, frame: usize) -> Vec<String> {
        let _ = frame;
        self.shared.look(|paused| Ok(paused.names())).unwrap_or_default()
    }

    fn edits(&self) -> Vec<String> {
        let control = self.shared.control();
        let texts = control.edits.iter().map(|edit| edit.text.clone());
        texts.filter(|text| !text.is_empty()).collect()
    }
}
