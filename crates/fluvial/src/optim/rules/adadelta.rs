//! Adadelta.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;

use crate::optim::rule::{Rule, Update, is_amount, is_fraction, optimizer};

optimizer! {
    /// Adadelta (Zeiler, 2012), as PyTorch's, where the usual rate is 1: running means of squared
    /// gradients and of squared steps give each element a rate of its own.
    ///
    /// Steps have the unit of parameters; remembers `squares` and `steps`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// Adadelta::new(["w"], 1.0).minimize(&(&w * &w))?;
    /// assert!(state.tensor("w")?.item::<f64>()? < 3.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub Adadelta = "Adadelta" | AdadeltaOptimizer;
    AdadeltaRule {
        /// How much of the running means is kept.
        rho: f64 = 0.9,
        /// Keeps the divisor from zero, and the first steps from being zero.
        eps: f64 = 1e-6,
    }
}

impl Rule for AdadeltaRule {
    fn name(&self) -> &str {
        "adadelta"
    }

    fn rate(&self) -> f64 {
        1.0
    }

    fn check(&self) -> Result<()> {
        is_fraction("`rho`", self.rho)?;
        is_amount("`eps`", self.eps)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let squares = u.slot("squares", 0.0)? * self.rho + &u.grad * &u.grad * (1.0 - self.rho);
        u.put("squares", &squares)?;
        let steps = u.slot("steps", 0.0)?;
        let delta = sqrt(&(&steps + self.eps))? / sqrt(&(&squares + self.eps))? * &u.grad;
        u.put("steps", &(steps * self.rho + &delta * &delta * (1.0 - self.rho)))?;
        (&u.param - &u.lr * delta).check()
    }
}
