//! LAMB.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;

use super::adam::moments;
use super::lars::{norm, ratio};
use crate::optim::rule::{Decay, Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// LAMB (You et al., 2019): Adam's direction with weight decay (0.01 unless given) added,
    /// scaled for each parameter to the ratio of its norm to that of the direction, or by 1 where
    /// either norm is zero.
    ///
    /// Remembers `m` and `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[2.0, 2.0], &[2]))?;
    /// Lamb::new(["w"], 0.25).weight_decay(0.0).minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert!((state.tensor("w")?.get_f64(&[0])? - 1.5).abs() < 1e-6); // a quarter of the norm
    /// # Ok::<(), Error>(())
    /// ```
    pub Lamb = "Lamb" | LambOptimizer;
    LambRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-6,
    }
    others(weight_decay | lamb_weight_decay)
}

impl Rule for LambRule {
    fn name(&self) -> &str {
        "lamb"
    }

    fn decay(&self) -> Decay {
        Decay::ByRule
    }

    fn weight_decay(&self) -> f64 {
        0.01
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let second = sqrt(&step.bias_correction(self.betas.1)?)?;
        Ok(vec![step.bias_correction(self.betas.0)?, second])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (m, v) = moments(u, self.betas)?;
        let adaptive = m / u.shared(0)? / (sqrt(&v)? / u.shared(1)? + self.eps);
        let direction = adaptive + &u.param * u.weight_decay;
        let (of_param, of_step) = (norm(&u.param)?, norm(&direction)?);
        let trust = ratio(&of_param, &of_step, &(&of_param / &of_step))?;
        (&u.param - (&u.lr * trust) * direction).check()
    }
}
