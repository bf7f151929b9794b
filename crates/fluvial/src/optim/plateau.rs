//! A rate that falls when a measure no longer improves.

use fluvial_core::scope::updating;
use fluvial_core::structural::cast;
use fluvial_core::{DType, Error, Result, Value, Var, at};
use fluvial_ops::{gt, logical_and, logical_not, lt, maximum, where_};

use super::memory::Memory;
use super::schedule::Schedule;

/// Lowers the rate when a measure (a loss, an accuracy) has stopped improving, as PyTorch's
/// `ReduceLROnPlateau` with `eps=0`: the rate falls however small it is.
///
/// It owns what it has seen, listed as `plateau.best`, `plateau.scale` (the factor on the rate), `plateau.bad`
/// (how often in a row it was not better) and `plateau.cooldown`. Clones share it. Under a
/// [`name`](Plateau::name) the state scope keeps it.
///
/// ```
/// use fluvial::optim::Plateau;
/// use fluvial::prelude::*;
///
/// let state = State::new();
/// let _scope = state.enter();
/// let plateau = Plateau::new().factor(0.5).patience(1);
/// let optimizer = Sgd::new(["w"], 1.0).schedule(plateau.schedule());
/// for loss in [3.0, 2.0, 2.0, 2.0] {
///     plateau.observe(&Var::scalar(loss))?;
/// }
/// assert_eq!(optimizer.learning_rate(0)?.item::<f64>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plateau {
    memory: Memory,
    factor: f64,
    patience: u32,
    threshold: f64,
    is_absolute: bool,
    cooldown: u32,
    lowest: f64,
    maximize: bool,
}

impl Plateau {
    /// A plateau that has seen nothing yet.
    #[allow(clippy::new_without_default, reason = "it has an identity")]
    #[track_caller]
    pub fn new() -> Plateau {
        Plateau {
            memory: Memory::new("plateau", fluvial_core::scope::user_line()),
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            is_absolute: false,
            cooldown: 0,
            lowest: 0.0,
            maximize: false,
        }
    }

    /// Keeps what it has seen in the state scope, under names that begin with this one.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Plateau {
        self.memory = Memory::named(name.into());
        self
    }

    /// What the rate is multiplied by; 0.1 unless given.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Plateau {
        self.factor = factor;
        self
    }

    /// How often in a row the measure may fail to improve before the rate falls; 10 unless given.
    #[must_use]
    pub fn patience(mut self, patience: u32) -> Plateau {
        self.patience = patience;
        self
    }

    /// By what part of the best value the measure must improve; 0.0001 unless given.
    #[must_use]
    pub fn relative_threshold(mut self, threshold: f64) -> Plateau {
        (self.threshold, self.is_absolute) = (threshold, false);
        self
    }

    /// By how much the measure must improve, whatever the best value is.
    #[must_use]
    pub fn absolute_threshold(mut self, threshold: f64) -> Plateau {
        (self.threshold, self.is_absolute) = (threshold, true);
        self
    }

    /// How many observations after a fall do not count.
    #[must_use]
    pub fn cooldown(mut self, cooldown: u32) -> Plateau {
        self.cooldown = cooldown;
        self
    }

    /// The rate does not fall below this.
    #[must_use]
    pub fn lowest(mut self, rate: f64) -> Plateau {
        self.lowest = rate;
        self
    }

    /// A larger measure is better.
    #[must_use]
    pub fn maximize(mut self) -> Plateau {
        self.maximize = true;
        self
    }

    /// What it has seen, by the names of states.
    pub fn state_dict(&self) -> Vec<(std::sync::Arc<str>, Value)> {
        self.memory.all()
    }

    /// Takes over what another one has seen, by the name of a state.
    pub fn load_state(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        self.memory.load(name, value.into())
    }

    /// The schedule that follows it.
    pub fn schedule(&self) -> Schedule {
        let plateau = self.clone();
        Schedule::new(move |first, _| {
            maximum(&(first * plateau.scale()?), &Var::scalar(plateau.lowest))
        })
    }

    fn scale(&self) -> Result<Var> {
        self.memory.number("scale", 1.0)
    }

    /// Takes a new value of the measure into account, in both modes.
    #[track_caller]
    pub fn observe(&self, measure: &Var) -> Result<()> {
        let loc = fluvial_core::scope::user_line();
        let _scope = (at(loc), updating());
        if measure.rank() != 0 || !measure.ty().is_float() {
            return Err(Error::argument(format!("a measure of type {}", measure.ty()))
                .remedy("give a float scalar")
                .at(loc));
        }
        let measure = cast(&measure.detach(), DType::F64)?;
        let worst = if self.maximize { f64::NEG_INFINITY } else { f64::INFINITY };
        let best = self.memory.number("best", worst)?;
        let bad = self.memory.counter("bad")?;
        let cooldown = self.memory.counter("cooldown")?;

        let better = match (self.maximize, self.is_absolute) {
            (false, false) => lt(&measure, &(&best * (1.0 - self.threshold)))?,
            (false, true) => lt(&measure, &(&best - self.threshold))?,
            (true, false) => gt(&measure, &(&best * (1.0 + self.threshold)))?,
            (true, true) => gt(&measure, &(&best + self.threshold))?,
        };
        let zero = Var::scalar(0i64);
        let cooling = gt(&cooldown, &zero)?;
        let counts = logical_and(&logical_not(&better)?, &logical_not(&cooling)?)?;
        let bad = where_(&counts, &(bad + 1.0), &zero)?;
        let falls = gt(&bad, &Var::scalar(i64::from(self.patience)))?;
        let rest = where_(&cooling, &(&cooldown - 1.0), &zero)?;
        let scale = self.scale()?;

        self.memory.put("best", &where_(&better, &measure, &best)?)?;
        self.memory.put("bad", &where_(&falls, &zero, &bad)?)?;
        let length = Var::scalar(i64::from(self.cooldown));
        self.memory.put("cooldown", &where_(&falls, &length, &rest)?)?;
        self.memory.put("scale", &where_(&falls, &(&scale * self.factor), &scale)?)
    }
}
