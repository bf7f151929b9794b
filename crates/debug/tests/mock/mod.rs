//! A target without a program: five ops over and over, with a parameter that falls, and NaN at a step if wanted.
//!
//! ```text
//!   train.py:10  h = matmul(x, w)     in layer fc1
//!   train.py:11  h2 = log(h)          in layer fc1
//!   train.py:11  a = abs(h2)          in layer fc1
//!   train.py:12  loss = mean(a)
//!   train.py:13  w = sgd(w)           in the phase of the optimizer
//! ```

#![allow(dead_code)]

pub mod client;
mod model;
mod values;

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fluvial_core::{Error, Result, Value};
use fluvial_debug::target::*;
use model::{Goal, Model};

/// What the mock is to do.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// How many steps it takes.
    pub n_steps: u64,
    /// The step at which `log` makes NaN.
    pub nan_at: Option<u64>,
    /// How long an op takes.
    pub pace: Duration,
    /// Whether it waits to be let go before its first op.
    pub waits: bool,
    /// Whether it cannot be ended.
    pub is_immortal: bool,
    /// How many rows the largest tensor has.
    pub n_rows: usize,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            n_steps: 1 << 40,
            nan_at: None,
            pace: Duration::from_micros(200),
            waits: false,
            is_immortal: false,
            n_rows: 250_000,
        }
    }
}

/// The target.
pub struct Mock {
    inner: Arc<Inner>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    model: Mutex<Model>,
    changed: Condvar,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mock {
    /// Starts to train.
    pub fn start(script: Script) -> Arc<Mock> {
        let inner =
            Arc::new(Inner { model: Mutex::new(Model::new(script)), changed: Condvar::new() });
        let of_worker = inner.clone();
        let worker = thread::spawn(move || work(&of_worker));
        Arc::new(Mock { inner, worker: Mutex::new(Some(worker)) })
    }

    /// Lets a mock that waits run.
    pub fn release(&self) {
        self.inner.lock().is_waiting = false;
        self.inner.changed.notify_all();
    }

    /// How many ops have run so far.
    pub fn position(&self) -> u64 {
        self.inner.lock().at
    }

    /// All that [`Target::go`] was asked for.
    pub fn orders(&self) -> Vec<Go> {
        self.inner.lock().orders.clone()
    }

    /// How many breakpoints there are.
    pub fn n_breakpoints(&self) -> usize {
        self.inner.lock().breakpoints.len()
    }

    /// Tells something to whoever listens.
    pub fn tell(&self, event: Event) {
        self.inner.lock().tell(event);
    }

    /// Waits, for some seconds at most, until something is so.
    pub fn wait_until(&self, is_so: impl Fn(&Mock) -> bool) -> bool {
        (0..1000).any(|_| {
            let holds = is_so(self);
            if !holds {
                thread::sleep(Duration::from_millis(5));
            }
            holds
        })
    }

    /// Whether it gets on.
    pub fn is_moving(&self) -> bool {
        let before = self.position();
        self.wait_until(|mock| mock.position() != before)
    }

    fn stopped_model(&self) -> Result<MutexGuard<'_, Model>> {
        let model = self.inner.lock();
        match model.stop {
            Some(_) => Ok(model),
            None => Err(Error::state("the program is running").remedy("pause it first")),
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.inner.lock().is_over = true;
        self.inner.changed.notify_all();
        if let Some(worker) = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = worker.join();
        }
    }
}

/// Runs op after op.
fn work(inner: &Inner) {
    loop {
        let mut model = inner.lock();
        while (model.stop.is_some() || model.is_waiting) && !model.is_over {
            model = inner.changed.wait(model).unwrap_or_else(PoisonError::into_inner);
        }
        if model.is_over || model.is_done() {
            model.tell(Event::Ended);
            model.is_over = true;
            return;
        }
        if !model.look() {
            model.advance();
            let pace = model.script.pace;
            drop(model);
            thread::sleep(pace);
        }
    }
}

impl Target for Mock {
    fn events(&self) -> Receiver<Event> {
        let (to, from) = channel();
        self.inner.lock().listeners.push(to);
        from
    }

    fn stopped(&self) -> Option<Arc<Stop>> {
        self.inner.lock().stop.clone()
    }

    fn go(&self, how: Go) -> Result<()> {
        let mut model = self.inner.lock();
        model.orders.push(how.clone());
        if model.is_over {
            return Err(Error::state("the program is over"));
        }
        match how {
            Go::Pause => model.wants_pause = model.stop.is_none(),
            Go::Quit => {
                model.is_over = !model.script.is_immortal;
                model.stop = None;
            }
            Go::Detach => model.detach(),
            _ if model.stop.is_none() => {
                return Err(Error::state("the program is running").remedy("pause it first"));
            }
            how => {
                let goal = Goal::of(&how, &model)?;
                model.resume(goal);
            }
        }
        self.inner.changed.notify_all();
        Ok(())
    }

    fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) -> Vec<Verdict> {
        let mut model = self.inner.lock();
        let verdicts = breakpoints.iter().map(|wanted| model.judge(wanted)).collect();
        model.set(breakpoints);
        verdicts
    }

    fn lines(&self, file: &str) -> Vec<u32> {
        if file.ends_with("train.py") { vec![10, 11, 12, 13] } else { Vec::new() }
    }

    fn programs(&self) -> Vec<ProgramInfo> {
        vec![ProgramInfo { number: 1, name: "train".to_string() }]
    }

    fn listing(&self, listing: Listing) -> Result<String> {
        match listing {
            Listing::Source(1) => Ok(model::LISTING.to_string()),
            Listing::Compiled(1) => Ok(format!("// compiled\n{}", model::LISTING)),
            _ => Err(Error::argument(format!("there is no listing {listing:?}"))),
        }
    }

    fn scopes(&self, frame: usize) -> Result<Vec<Scope>> {
        self.stopped_model()?.scopes(frame)
    }

    fn variables(&self, frame: usize, scope: ScopeKind) -> Result<Vec<Variable>> {
        self.stopped_model()?.variables(frame, scope)
    }

    fn evaluate(&self, _frame: usize, text: &str) -> Result<Evaluated> {
        self.stopped_model()?.evaluate(text)
    }

    fn set(
        &self,
        _frame: usize,
        _scope: Option<ScopeKind>,
        name: &str,
        index: &[usize],
        expression: &str,
    ) -> Result<Value> {
        self.stopped_model()?.edit(name, index, expression).map(Value::from)
    }

    fn names(&self, _frame: usize) -> Vec<String> {
        ["x", "w", "h", "h2", "loss", "step", "big", "mean"].map(str::to_string).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        self.inner.lock().edits.clone()
    }
}
