//! Averages of parameters over the steps.

use fluvial_core::scope::updating;
use fluvial_core::structural::cast;
use fluvial_core::{DType, Place, Result, Var, at, no_grad};
use fluvial_ops::{gt, lt, where_};

use super::memory::Memory;
use super::param::Param;
use super::rule::is_fraction;

/// Exponential moving averages of parameters: `average = decay * average + (1 - decay) * w`, and
/// `w` itself at first.
///
/// It owns the averages, listed as `ema.shadow.parameter`, and the number of updates, `ema.step`. Under a
/// [`name`](Ema::name) the state scope keeps them.
///
/// ```
/// use fluvial::optim::Ema;
/// use fluvial::prelude::*;
///
/// let state = State::new();
/// let _scope = state.enter();
/// let ema = Ema::new(["w"], 0.5);
/// for value in [1.0, 2.0] {
///     state.insert("w", Role::Parameter, Tensor::scalar(value))?;
///     ema.update()?;
/// }
/// {
///     let _averaged = ema.apply()?;
///     assert_eq!(state.tensor("w")?.item::<f64>()?, 1.5);
/// }
/// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ema {
    memory: Memory,
    params: Vec<Param>,
    decay: f64,
    warm_up: bool,
}

impl Ema {
    /// Averages of these parameters.
    #[track_caller]
    pub fn new(params: impl IntoIterator<Item = impl Into<Param>>, decay: f64) -> Ema {
        let params = params.into_iter().map(Into::into).collect();
        let memory = Memory::new("ema", fluvial_core::scope::user_line());
        Ema { memory, params, decay, warm_up: false }
    }

    /// Keeps the averages in the state scope, under names that begin with this one.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Ema {
        self.memory = Memory::named(name.into());
        self
    }

    /// Averages over few steps at first: the decay is at most `(1 + t) / (10 + t)` after `t`
    /// updates.
    #[must_use]
    pub fn warm_up(mut self) -> Ema {
        self.warm_up = true;
        self
    }

    /// Takes the present values into the averages, in both modes.
    #[track_caller]
    pub fn update(&self) -> Result<()> {
        let loc = fluvial_core::scope::user_line();
        let _scope = (at(loc), updating());
        is_fraction("the decay of averages", self.decay).map_err(|error| error.at(loc))?;
        self.memory
            .before_step("the average `ema`", &self.params)
            .map_err(|error| error.at(loc))?;
        let step = self.memory.counter("step")?;
        let decay = self.decay_at(&step)?;
        for param in &self.params {
            let value = param.read()?;
            let (place, shadow) = self.memory.slot("shadow", param, &value.ty(), 0.0)?;
            let kept = cast(&decay, value.dtype())?;
            place.assign(&(shadow * &kept + &value * (1.0 - kept)))?;
        }
        self.memory.put("step", &(step + 1.0))?;
        self.memory.after_step();
        Ok(())
    }

    /// The decay of this update: zero at first, so that the first average is the value itself.
    fn decay_at(&self, step: &Var) -> Result<Var> {
        let t = cast(step, DType::F64)?;
        let full = Var::scalar(self.decay);
        let decay = match self.warm_up {
            true => {
                let early = (&t + 1.0) / (&t + 10.0);
                where_(&lt(&early, &full)?, &early, &full)?
            }
            false => full,
        };
        where_(&gt(&t, &Var::scalar(0.0))?, &decay, &Var::scalar(0.0))
    }

    /// Puts the averages in place of the parameters until the guard is dropped, in both modes.
    /// Before the first update it changes nothing.
    #[track_caller]
    pub fn apply(&self) -> Result<Applied> {
        let _scope = (at(fluvial_core::scope::user_line()), no_grad());
        let begun = gt(&self.memory.counter("step")?, &Var::scalar(0i64))?;
        let mut averages = Vec::new();
        let mut applied = Applied { saved: Vec::new() };
        for param in &self.params {
            let value = param.read()?;
            let (_, shadow) = self.memory.slot("shadow", param, &value.ty(), 0.0)?;
            averages.push(where_(&begun, &shadow, &value)?);
            applied.saved.push((param.place(), value.detach()));
        }
        for ((place, _), average) in applied.saved.iter().zip(&averages) {
            place.assign(average)?;
        }
        Ok(applied)
    }
}

/// Puts the parameters back when dropped.
///
/// In a program the averages are in place in what is built while the guard lives.
#[must_use = "the parameters are put back when the guard is dropped"]
pub struct Applied {
    saved: Vec<(Place, Var)>,
}

impl Applied {
    /// Puts the parameters back, and says if that failed: dropping cannot.
    #[track_caller]
    pub fn restore(mut self) -> Result<()> {
        let _line = at(fluvial_core::scope::user_line());
        std::mem::take(&mut self.saved).iter().try_for_each(|(place, var)| place.assign(var))
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for (place, value) in &self.saved {
            // Fails only if the state was removed meanwhile: then there is nothing to put back.
            let _ = place.assign(value);
        }
    }
}
