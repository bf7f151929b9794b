//! What happens between steps: a line of progress, and saving.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fluvial::core::Value;
use fluvial::data::Reader;
use fluvial::io;
use fluvial::prelude::*;
use fluvial::runtime::Trip;

pub struct Watch {
    saved: Option<PathBuf>,
    every: u64,
    limit: u64,
    /// The steps made, and how many there were when the run began.
    steps: Cell<u64>,
    first: u64,
    /// Whether a step of a program is under way.
    is_begun: Cell<bool>,
    began: Instant,
    told: Cell<Instant>,
}

impl Watch {
    pub fn new(saved: Option<PathBuf>, every: u64, steps: u64, limit: u64) -> Watch {
        let (now, is_begun) = (Instant::now(), Cell::new(false));
        let (steps, told) = (Cell::new(steps), Cell::new(now));
        Watch { saved, every, limit, first: steps.get(), steps, is_begun, began: now, told }
    }

    /// A step was made; whether to save now.
    pub fn step(&self, loss: f32) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.tell(loss);
        self.saved.is_some() && self.steps.get().is_multiple_of(self.every)
    }

    /// A loop of a program is about to make a trip; whether to save before it. With a trip of the training, the
    /// step that began with the trip before is over.
    pub fn trip(&self, trip: &Trip<'_>, train: &Reader) -> bool {
        let is_step = trip.step.op.reader().is_some_and(|reader| reader == train.to_string());
        if !is_step || !self.is_begun.replace(is_step) {
            return false;
        }
        // The loss is what the loop carries first.
        let loss = trip.step.op.carries().map(|carries| &trip.args[carries.params]);
        let Some(Value::Tensor(loss)) = loss else { return self.step(f32::NAN) };
        self.step(loss.item().unwrap_or(f32::NAN))
    }

    /// All steps of a program are over.
    pub fn end(&self, loss: f32) {
        if self.is_begun.take() {
            self.step(loss);
        }
    }

    pub fn save(&self, state: &State) -> Result<()> {
        match &self.saved {
            Some(path) => io::save_states(path, state, &Role::ALL),
            None => Ok(()),
        }
    }

    /// A line on a terminal, and now and then one elsewhere.
    fn tell(&self, loss: f32) {
        let (is_terminal, steps) = (stderr().is_terminal(), self.steps.get());
        let every = Duration::from_millis(if is_terminal { 100 } else { 2000 });
        if self.told.get().elapsed() < every && steps < self.limit {
            return;
        }
        self.told.set(Instant::now());
        let rate = (steps - self.first) as f64 / self.began.elapsed().as_secs_f64().max(1e-9);
        let left = (self.limit - steps) as f64 / rate;
        let line = format!(
            "step {steps}/{}  loss {loss:.4}  {rate:.1} steps/s  {left:.0} s left",
            self.limit
        );
        let is_last = steps >= self.limit;
        // Nobody may be listening.
        let _ = match is_terminal {
            true => write!(stderr(), "{line:70}{}", if is_last { "\n" } else { "\r" }),
            false => writeln!(stderr(), "{line}"),
        };
    }
}
