//! The program's side of the debugger.
//!
//! - `conduct`: runs come here, and are run in stretches between snapshots; going back is running again from one.
//! - `lane`: told of every step, decides where to stop, with `mode` and `checks`. `stack`, `blocks`, `pos`: where a run is, and what its values are.
//! - `points`: breakpoints. `source`: what the user's lines call values. `listing`: programs as text.
//! - `halt`: a program that is stopped waits here. `view`, `look`: what can be seen and set then; `recall`: what is gone.
//! - `history`: snapshots. `loss`: when a loss is too high. `shared`: between the program's thread and others.

mod blocks;
mod checks;
mod conduct;
mod halt;
mod history;
mod inner;
mod lane;
mod listing;
mod look;
mod loss;
mod mode;
mod points;
mod pos;
mod recall;
pub(crate) mod recording;
mod shared;
pub mod source;
mod stack;
mod view;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use fluvial_core::{Block, Call, Error, Result, Value};
use fluvial_runtime::attach;

use crate::target::{
    Breakpoint, Evaluated, Event, Go, Listing, OWN_BREAKPOINTS, On, ProgramInfo, Scope, ScopeKind,
    Stop, Target, ThreadInfo, Variable, Verdict,
};
use blocks::each_part;
use conduct::Director;
use points::{Point, names, same_file, verdict};
use recording::Recording;
use shared::{Ask, Known, Shared, not_stopped};

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
        let mut control = self.shared.control();
        if !control.is_attached {
            control.turn_over(true);
        }
        attach::attach(self.director.clone());
    }

    /// Stops as soon as possible, when a program next runs.
    pub fn stop_next(&self) {
        self.shared.control().pauses = None;
        self.shared.pause.store(true, Ordering::Relaxed);
    }

    /// Adds a breakpoint on the line of the user's own code that asked for it, beside those of front ends.
    pub fn break_at(&self, file: &str, line: u32) {
        let on = On::Line { file: file.into(), line };
        {
            let mut control = self.shared.control();
            if control.points.iter().any(|point| is_own(point) && point.spec.on == on) {
                return;
            }
            let id = OWN_BREAKPOINTS + control.n_own;
            control.n_own += 1;
            control.points.push(Point::new(Breakpoint::new(id, on)));
        }
        self.shared.settle_all();
    }

    /// Takes a recorded run up where it was stopped, and runs it to its end, on this thread.
    pub fn play(&self, recording: Recording) -> Result<()> {
        self.director.play(recording)
    }

    /// Says that the process is about to end.
    pub fn end(&self) {
        self.shared.emit(&Event::Ended);
    }
}

/// Whether the user's code has set a breakpoint.
fn is_own(point: &Point) -> bool {
    point.spec.id >= OWN_BREAKPOINTS
}

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
        On::Line { .. } if point.spec.phase.is_some() => {
            let mut is_met = false;
            for known in programs {
                each_call(&known.executor.compiled().program.main, &mut |call| {
                    each_part(call, &mut |part| is_met |= point.is_on(part));
                });
            }
            is_met
        }
        _ => true,
    };
    verdict(point, is_met)
}

/// Calls `f` with all calls of a block and of those in it.
fn each_call(block: &Block, f: &mut dyn FnMut(&Call)) {
    for call in &block.calls {
        f(call);
        call.op.blocks().iter().for_each(|inner| each_call(inner, f));
    }
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
        has_name(known, name) || known.lines.iter().any(assigns)
    }
}

impl Target for Engine {
    fn events(&self) -> Receiver<Event> {
        self.attach();
        self.shared.subscribe()
    }

    fn stopped(&self) -> Option<Arc<Stop>> {
        let control = self.shared.control();
        control.threads.get(&control.stopped_thread()?)?.stop.clone()
    }

    fn stops(&self) -> Vec<Arc<Stop>> {
        self.shared.control().threads.values().filter_map(|thread| thread.stop.clone()).collect()
    }

    fn threads(&self) -> Vec<ThreadInfo> {
        let control = self.shared.control();
        let info = |(number, thread): (&u32, &shared::Thread)| ThreadInfo {
            number: *number,
            name: thread.name.clone(),
        };
        match control.threads.is_empty() {
            true => vec![ThreadInfo { number: 1, name: "main".into() }],
            false => control.threads.iter().map(info).collect(),
        }
    }

    fn choose(&self, thread: u32) {
        self.shared.control().chosen = Some(thread);
    }

    fn own_breakpoints(&self) -> Vec<Verdict> {
        let control = self.shared.control();
        let own = control.points.iter().filter(|point| is_own(point));
        own.map(|point| verdict_of(point, &control.programs)).collect()
    }

    fn go(&self, how: Go) -> Result<()> {
        let mut control = self.shared.control();
        match how {
            Go::Pause => {
                // A thread that is chosen is meant, unless it has nothing to do.
                let chosen = control.chosen.and_then(|chosen| control.threads.get(&chosen));
                let is_running =
                    chosen.is_some_and(|thread| thread.is_running && thread.stop.is_none());
                control.pauses = control.chosen.filter(|_| is_running);
                if control.threads.values().all(|thread| thread.stop.is_none()) || is_running {
                    self.shared.pause.store(true, Ordering::Relaxed);
                }
                Ok(())
            }
            Go::Detach => {
                control.turn_over(false);
                self.shared.pause.store(false, Ordering::Relaxed);
                attach::detach();
                for thread in control.threads.values_mut() {
                    // Where nothing is stopped, the next trip sees it.
                    if let Some(asks) = thread.asks.take() {
                        let _ = asks.send(Ask::Go(Go::Detach));
                    }
                    thread.stop = None;
                }
                Ok(())
            }
            Go::Quit => {
                self.shared.pause.store(false, Ordering::Relaxed);
                for thread in control.threads.values_mut().filter(|thread| thread.is_running) {
                    thread.quits = true;
                    if let Some(asks) = thread.asks.take() {
                        let _ = asks.send(Ask::Go(Go::Quit));
                    }
                    thread.stop = None;
                }
                Ok(())
            }
            how => {
                let number = control.stopped_thread().ok_or_else(not_stopped)?;
                let thread = control.threads.get_mut(&number).ok_or_else(not_stopped)?;
                let asks = thread.asks.take().ok_or_else(not_stopped)?;
                thread.stop = None;
                asks.send(Ask::Go(how)).map_err(|_| not_stopped())
            }
        }
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
            for point in &mut points {
                point.verdict = Some(verdict_of(point, &programs));
            }
            let verdicts = points.iter().filter_map(|point| point.verdict.clone()).collect();
            points.extend(old.into_iter().filter(is_own));
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

    fn record(&self, path: &Path) -> Result<String> {
        let path = path.to_path_buf();
        self.shared.look(move |paused| paused.record(&path))
    }

    fn edits(&self) -> Vec<String> {
        let control = self.shared.control();
        let texts = control.edits.iter().map(|edit| edit.text.clone());
        texts.filter(|text| !text.is_empty()).collect()
    }
}
