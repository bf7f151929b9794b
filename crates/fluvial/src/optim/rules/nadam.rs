//! NAdam.

use fluvial_core::{Result, Var};
use fluvial_ops::{pow, sqrt};

use super::adam::moments;
use crate::optim::rule::{Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// NAdam (Dozat, 2016), as PyTorch's: Adam with Nesterov's momentum, whose size grows over the
    /// steps. The usual rate is 0.002.
    ///
    /// Remembers `m` and `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// let optimizer = NAdam::new(["w"], 0.1);
    /// optimizer.minimize(&(&w * &w))?;
    /// assert!(state.tensor("w")?.item::<f64>()? < 3.0);
    /// assert!(state.contains("nadam.mu_product"));
    /// # Ok::<(), Error>(())
    /// ```
    pub NAdam = "NAdam";
    NAdamRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
        /// How fast the momentum grows to its full size.
        momentum_decay: f64 = 4e-3,
    }
}

impl NAdamRule {
    /// The momentum at step `t`.
    fn mu(&self, t: &Var) -> Result<Var> {
        let missing = pow(&Var::scalar(0.96), &(t * self.momentum_decay))? * 0.5;
        ((1.0 - missing) * self.betas.0).check()
    }
}

impl Rule for NAdamRule {
    fn name(&self) -> &str {
        "nadam"
    }

    fn rate(&self) -> f64 {
        0.002
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)?;
        is_amount("`momentum_decay`", self.momentum_decay)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let (mu, next) = (self.mu(&step.t)?, self.mu(&(&step.t + 1.0))?);
        let product = step.number("mu_product", 1.0)? * &mu;
        step.put_number("mu_product", &product)?;
        let of_gradient = (1.0 - mu) / (1.0 - &product);
        let of_moment = &next / (1.0 - product * &next);
        let second = sqrt(&step.bias_correction(self.betas.1)?)?;
        Ok(vec![of_gradient.check()?, of_moment.check()?, second])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (m, v) = moments(u, self.betas)?;
        let direction = u.shared(0)? * &u.grad + u.shared(1)? * m;
        let spread = sqrt(&v)? / u.shared(2)? + self.eps;
        (&u.param - &u.lr * (direction / spread)).check()
    }
}
