//! Adamax.

use fluvial_core::{Result, Var};
use fluvial_ops::{abs, maximum};

use super::adam::first_moment;
use crate::optim::rule::{Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// Adamax (Kingma and Ba, 2014), as PyTorch's: Adam with the largest gradient, slowly
    /// forgotten, in place of the root of the second moment. The usual rate is 0.002.
    ///
    /// Remembers `m` and `u`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// Adamax::new(["w"], 0.5).betas((0.5, 0.999)).eps(0.0).minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.5);
    /// # Ok::<(), Error>(())
    /// ```
    pub Adamax = "Adamax" | AdamaxOptimizer;
    AdamaxRule {
        /// How much of the moment and of the largest gradient is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
    }
}

impl Rule for AdamaxRule {
    fn name(&self) -> &str {
        "adamax"
    }

    fn rate(&self) -> f64 {
        0.002
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        Ok(vec![step.bias_correction(self.betas.0)?])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let m = first_moment(u, self.betas.0)?;
        let largest = maximum(&(u.slot("u", 0.0)? * self.betas.1), &(abs(&u.grad)? + self.eps))?;
        u.put("u", &largest)?;
        (&u.param - (&u.lr / u.shared(0)?) * (m / largest)).check()
    }
}
