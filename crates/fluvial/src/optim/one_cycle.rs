//! The one-cycle schedule.

use std::f64::consts::PI;

use fluvial_core::{Result, Var, options};
use fluvial_ops::{cos, gt, where_};

use super::schedule::{number, positive};

options! {
    /// How the rate goes up and down once (Smith and Topin, 2017; PyTorch's `OneCycleLR`). The
    /// momentum is not changed.
    pub struct OneCycle {
        /// The number of steps in all.
        pub steps: u32 = 100u32,
        /// The part of them in which the rate goes up.
        pub rising: f64 = 0.3,
        /// The first rate of all is the highest one divided by this.
        pub div_factor: f64 = 25.0,
        /// The last rate is the first one divided by this.
        pub final_div_factor: f64 = 1e4,
        /// Straight lines in place of cosine waves.
        pub linear: bool = false,
        /// Down to the first rate as fast as up, and only then to the last one.
        pub three_phases: bool = false,
    }
}

impl OneCycle {
    /// One cycle of so many steps.
    pub fn new(steps: u32) -> OneCycle {
        OneCycle::default().steps(steps)
    }

    /// The rate after `step` steps, where the highest is `high`.
    pub(super) fn rate(&self, high: &Var, step: &Var) -> Result<Var> {
        positive("the length of a schedule", f64::from(self.steps))?;
        let first = high / self.div_factor;
        let last = &first / self.final_div_factor;
        let up = self.rising * f64::from(self.steps) - 1.0;
        let end = f64::from(self.steps) - 1.0;
        if !self.three_phases {
            let falling = self.between(high, &last, step, up, end)?;
            let rising = self.between(&first, high, step, 0.0, up)?;
            return where_(&gt(step, &Var::scalar(up))?, &falling, &rising);
        }
        let down = 2.0 * self.rising * f64::from(self.steps) - 2.0;
        let rising = self.between(&first, high, step, 0.0, up)?;
        let falling = self.between(high, &first, step, up, down)?;
        let fading = self.between(&first, &last, step, down, end)?;
        let early = where_(&gt(step, &Var::scalar(up))?, &falling, &rising)?;
        where_(&gt(step, &Var::scalar(down))?, &fading, &early)
    }

    /// From `a` at step `start` to `b` at step `end`; `b` afterwards.
    fn between(&self, a: &Var, b: &Var, step: &Var, start: f64, end: f64) -> Result<Var> {
        positive("the length of a part of the cycle", end - start)?;
        let part = (step - start) / (end - start);
        let part = where_(&gt(&part, &number(1))?, &number(1), &part)?;
        match self.linear {
            true => (a + (b - a) * part).check(),
            false => (b + (a - b) * 0.5 * (cos(&(part * PI))? + 1.0)).check(),
        }
    }
}
