//! Rates that go up and down between two bounds.

use fluvial_core::{Error, Result, Var};
use fluvial_ops::{floor, minimum, pow};

use super::schedule::{Schedule, positive};

/// A rate that goes from `lowest` to `highest` and back, again and again (`CyclicLR`; Smith, 2017). The first rate
/// of the optimizer does not count.
///
/// ```
/// use fluvial::optim::{Cyclic, Schedule};
/// use fluvial::prelude::*;
///
/// let schedule = Schedule::cyclic(Cyclic::new(0.0, 0.5, 4));
/// assert_eq!([0, 2, 4, 6].map(|step| schedule.at(1.0, step).unwrap()), [0.0, 0.25, 0.5, 0.25]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cyclic {
    lowest: f64,
    highest: f64,
    up: f64,
    down: f64,
    halves: bool,
    gamma: f64,
    by_step: bool,
}

impl Cyclic {
    /// Up in so many steps, and down in as many.
    pub fn new(lowest: f64, highest: f64, up: u32) -> Cyclic {
        let up = f64::from(up);
        Cyclic { lowest, highest, up, down: up, halves: false, gamma: 1.0, by_step: false }
    }

    /// Down in so many steps.
    #[must_use]
    pub fn down(mut self, steps: u32) -> Cyclic {
        self.down = f64::from(steps);
        self
    }

    /// Each cycle is half as high as the one before it (`triangular2`).
    #[must_use]
    pub fn halves(mut self) -> Cyclic {
        self.halves = true;
        self
    }

    /// The height falls as a power of the number of steps (`exp_range`).
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Cyclic {
        (self.gamma, self.by_step) = (gamma, true);
        self
    }

    /// The rate after so many steps, without regard to the first one.
    pub(super) fn rate(&self, step: &Var) -> Result<Var> {
        positive("the steps up of a cycle", self.up)?;
        positive("the steps down of a cycle", self.down)?;
        if !(self.lowest.is_finite() && self.highest.is_finite()) {
            return Err(Error::argument("the bounds of a cycle are numbers"));
        }
        let whole = self.up + self.down;
        let share = self.up / whole;
        let cycle = floor(&(step / whole + 1.0))?;
        let x = (step / whole - &cycle + 1.0).check()?;
        // Up to `share` it rises, then it falls: the lesser of both lines.
        let rising = (&x / share).check()?;
        let falling = ((1.0 - &x) / (1.0 - share)).check()?;
        let height = minimum(&rising, &falling)? * (self.highest - self.lowest);
        let scaled = match (self.halves, self.by_step) {
            (true, _) => height / pow(&Var::scalar(2.0), &(&cycle - 1.0))?,
            (_, true) => height * pow(&Var::scalar(self.gamma), step)?,
            _ => height,
        };
        (scaled + self.lowest).check()
    }
}

impl Schedule {
    /// Up and down between two bounds, whatever the first rate is (`CyclicLR`).
    pub fn cyclic(options: Cyclic) -> Schedule {
        Schedule::new(move |_, step| options.rate(step))
    }
}
