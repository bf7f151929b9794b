//! Rates as functions of the number of steps, computed with ops: in a program they are part of it.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use fluvial_core::{Error, Result, Var};
use fluvial_ops::{cos, floor, ge, gt, le, log, lt, maximum, pow, where_};

use super::one_cycle::OneCycle;

type Function = dyn Fn(&Var, &Var) -> Result<Var> + Send + Sync;

/// How the rate of an optimizer changes: a function of its first rate and of the number of steps
/// made so far. Values are those of PyTorch's `lr_scheduler`, with one `step()` after each update.
///
/// ```
/// use fluvial::optim::Schedule;
/// use fluvial::prelude::*;
///
/// let schedule = Schedule::warm_up(4, 0.25, Schedule::step(10, 0.5));
/// assert_eq!(schedule.at(1.0, 0)?, 0.25);
/// assert_eq!(schedule.at(1.0, 4)?, 1.0);
/// assert_eq!(schedule.at(1.0, 14)?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Schedule(Arc<Function>);

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schedule")
    }
}

impl Schedule {
    /// A function of the first rate and of the number of steps made so far, both `f64` scalars.
    ///
    /// ```
    /// use fluvial::optim::Schedule;
    /// use fluvial::prelude::*;
    ///
    /// let inverse = Schedule::new(|rate, step| (rate / (step + 1.0)).check());
    /// assert_eq!(inverse.at(1.0, 3)?, 0.25);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(f: impl Fn(&Var, &Var) -> Result<Var> + Send + Sync + 'static) -> Schedule {
        Schedule(Arc::new(f))
    }

    /// The first rate times a function of the number of steps (PyTorch's `LambdaLR`).
    pub fn lambda(f: impl Fn(&Var) -> Result<Var> + Send + Sync + 'static) -> Schedule {
        Schedule::new(move |rate, step| (rate * f(step)?).check())
    }

    /// The rate after `step` steps, for a first rate, in both modes.
    #[track_caller]
    pub fn rate(&self, first: &Var, step: &Var) -> Result<Var> {
        let _line = fluvial_core::at(fluvial_core::scope::user_line());
        (self.0)(first, step)
    }

    /// The rate after `step` steps, as a number.
    #[track_caller]
    pub fn at(&self, first: f64, step: u32) -> Result<f64> {
        let _now = fluvial_core::imperative();
        self.rate(&Var::scalar(first), &Var::scalar(f64::from(step)))?.item()
    }

    /// Counts in units of `n` steps, rounded down: with the number of batches in an epoch, the
    /// schedule goes by epochs.
    #[must_use]
    pub fn every(self, n: u32) -> Schedule {
        Schedule::new(move |rate, step| {
            positive("the unit of a schedule", f64::from(n))?;
            self.rate(rate, &floor(&(step / f64::from(n)))?)
        })
    }

    /// Always the first rate.
    pub fn constant() -> Schedule {
        Schedule::new(|rate, _| Ok(rate.clone()))
    }

    /// The first rate times `factor` during the first `steps` steps, then the first rate itself
    /// (`ConstantLR`).
    pub fn delayed(factor: f64, steps: u32) -> Schedule {
        Schedule::lambda(move |step| {
            where_(&lt(step, &number(steps))?, &Var::scalar(factor), &Var::scalar(1.0))
        })
    }

    /// Times `gamma` every `size` steps (`StepLR`).
    pub fn step(size: u32, gamma: f64) -> Schedule {
        Schedule::exponential(gamma).every(size)
    }

    /// Times `gamma` at each of these steps (`MultiStepLR`).
    pub fn multi_step(milestones: &[u32], gamma: f64) -> Schedule {
        let milestones = milestones.to_vec();
        Schedule::lambda(move |step| {
            let mut factor = Var::scalar(1.0);
            for &milestone in &milestones {
                let passed = ge(step, &number(milestone))?;
                factor = where_(&passed, &(&factor * gamma), &factor)?;
            }
            Ok(factor)
        })
    }

    /// Times `gamma` in every step (`ExponentialLR`).
    pub fn exponential(gamma: f64) -> Schedule {
        Schedule::lambda(move |step| pow(&Var::scalar(gamma), step))
    }

    /// From `start` times the first rate to `end` times it, in equal steps, in `steps` steps
    /// (`LinearLR`).
    pub fn linear(start: f64, end: f64, steps: u32) -> Schedule {
        Schedule::lambda(move |step| {
            let done = part(step, steps)?;
            (done * (end - start) + start).check()
        })
    }

    /// To zero in `steps` steps: the first rate times `(1 - step / steps)^power` (`PolynomialLR`).
    pub fn polynomial(steps: u32, power: f64) -> Schedule {
        Schedule::lambda(move |step| pow(&(1.0 - part(step, steps)?), &Var::scalar(power)))
    }

    /// Half a cosine wave from the first rate to `lowest` in `steps` steps, and back
    /// (`CosineAnnealingLR`).
    pub fn cosine(steps: u32, lowest: f64) -> Schedule {
        Schedule::new(move |rate, step| {
            positive("the length of a schedule", f64::from(steps))?;
            half_wave(rate, &(step / f64::from(steps)), lowest)
        })
    }

    /// [`cosine`](Schedule::cosine) that begins anew at its end; each time it is `factor` times
    /// as long (`CosineAnnealingWarmRestarts`).
    pub fn cosine_restarts(steps: u32, factor: u32, lowest: f64) -> Schedule {
        let (length, growth) = (f64::from(steps), f64::from(factor));
        Schedule::new(move |rate, step| {
            positive("the length of a schedule", length)?;
            positive("the growth of a schedule", growth)?;
            if factor == 1 {
                let cycle = step / length;
                return half_wave(rate, &(&cycle - floor(&cycle)?), lowest);
            }
            let start = |cycle: &Var| -> Result<Var> {
                let grown = pow(&Var::scalar(growth), cycle)?;
                ((grown - 1.0) * (length / (growth - 1.0))).check()
            };
            // The logarithm may miss a whole number by a rounding; the starts themselves decide.
            let guess = floor(&(log(&(step * ((growth - 1.0) / length) + 1.0))? / growth.ln()))?;
            let next = &guess + 1.0;
            let cycle = where_(&le(&start(&next)?, step)?, &next, &guess)?;
            let cycle = where_(&gt(&start(&cycle)?, step)?, &(&cycle - 1.0), &cycle)?;
            let within = step - start(&cycle)?;
            let cycle_length = pow(&Var::scalar(growth), &cycle)? * length;
            half_wave(rate, &(within / cycle_length), lowest)
        })
    }

    /// Up to the first rate and down far below it (`OneCycleLR`); the first rate is its `max_lr`.
    pub fn one_cycle(options: OneCycle) -> Schedule {
        Schedule::new(move |rate, step| options.rate(rate, step))
    }

    /// The first rate times `dim^-0.5 * min(t^-0.5, t * warm_up^-1.5)`, where `t` counts steps from
    /// 1 (Vaswani et al., 2017).
    pub fn noam(dim: u32, warm_up: u32) -> Schedule {
        Schedule::lambda(move |step| {
            positive("the number of steps to warm up", f64::from(warm_up))?;
            let t = step + 1.0;
            let rising = &t * f64::from(warm_up).powf(-1.5);
            let falling = pow(&t, &Var::scalar(-0.5))?;
            let smaller = where_(&lt(&rising, &falling)?, &rising, &falling)?;
            (smaller * f64::from(dim).powf(-0.5)).check()
        })
    }

    /// From `start` times the first rate to all of it in `steps` steps; then as `after`, which
    /// begins at its step 0.
    pub fn warm_up(steps: u32, start: f64, after: Schedule) -> Schedule {
        Schedule::sequential(vec![Schedule::linear(start, 1.0, steps), after], &[steps])
    }

    /// `rates[i]` from step `boundaries[i - 1]` on, whatever the first rate is.
    pub fn piecewise(boundaries: &[u32], rates: &[f64]) -> Schedule {
        let (boundaries, rates) = (boundaries.to_vec(), rates.to_vec());
        Schedule::new(move |_, step| {
            fit(rates.len(), boundaries.len())?;
            let mut rate = Var::scalar(rates[0]);
            for (&boundary, &next) in boundaries.iter().zip(&rates[1..]) {
                rate = where_(&ge(step, &number(boundary))?, &Var::scalar(next), &rate)?;
            }
            Ok(rate)
        })
    }

    /// One schedule after the other: `schedules[i]` from step `milestones[i - 1]` on, counted from
    /// there (`SequentialLR`).
    pub fn sequential(schedules: Vec<Schedule>, milestones: &[u32]) -> Schedule {
        let milestones = milestones.to_vec();
        Schedule::new(move |first, step| {
            fit(schedules.len(), milestones.len())?;
            let mut rate = schedules[0].rate(first, step)?;
            for (milestone, schedule) in milestones.iter().zip(&schedules[1..]) {
                let passed = ge(step, &number(*milestone))?;
                // Before its time, a schedule is asked for its beginning.
                let own = maximum(&(step - f64::from(*milestone)), &Var::scalar(0.0))?;
                rate = where_(&passed, &schedule.rate(first, &own)?, &rate)?;
            }
            Ok(rate)
        })
    }

    /// Schedules together: the rate that each gives is the first rate of the next one
    /// (`ChainedScheduler`).
    pub fn chained(schedules: Vec<Schedule>) -> Schedule {
        Schedule::new(move |first, step| {
            schedules.iter().try_fold(first.clone(), |rate, schedule| schedule.rate(&rate, step))
        })
    }
}

/// `lowest + (rate - lowest) * (1 + cos(pi * part)) / 2`.
fn half_wave(rate: &Var, part: &Var, lowest: f64) -> Result<Var> {
    let height = (cos(&(part * PI))? + 1.0) * 0.5;
    ((rate - lowest) * height + lowest).check()
}

/// `step / steps`, at most one.
fn part(step: &Var, steps: u32) -> Result<Var> {
    positive("the length of a schedule", f64::from(steps))?;
    let (step, end) = (step.clone(), number(steps));
    (where_(&lt(&step, &end)?, &step, &end)? / f64::from(steps)).check()
}

pub(super) fn number(n: u32) -> Var {
    Var::scalar(f64::from(n))
}

pub(super) fn positive(what: &str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("{what} is {value}, but must be positive"))),
    }
}

fn fit(n: usize, n_borders: usize) -> Result<()> {
    match n == n_borders + 1 {
        true => Ok(()),
        false => Err(Error::argument(format!(
            "{n} parts of a schedule do not fit {n_borders} borders between them"
        ))
        .remedy("give one border less than parts")),
    }
}
