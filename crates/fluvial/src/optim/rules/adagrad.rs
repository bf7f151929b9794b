//! Adagrad.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;

use crate::optim::rule::{Rule, Step, Update, is_amount, optimizer};

optimizer! {
    /// Adagrad (Duchi, Hazan and Singer, 2011), as PyTorch's: `s += g²`, then
    /// `w -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)`.
    ///
    /// Rates fall with the sum of squared gradients; remembers `sum`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// let optimizer = Adagrad::new(["w"], 0.5).eps(0.0);
    /// optimizer.minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.5);
    /// assert_eq!(state.tensor("adagrad.sum.w")?.item::<f64>()?, 36.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub Adagrad = "Adagrad" | AdagradOptimizer;
    AdagradRule {
        /// How fast the rate decays.
        lr_decay: f64 = 0.0,
        /// Where the sums of squares begin.
        initial_accumulator: f64 = 0.0,
        /// Keeps the divisor from zero.
        eps: f64 = 1e-10,
    }
}

impl Rule for AdagradRule {
    fn name(&self) -> &str {
        "adagrad"
    }

    fn rate(&self) -> f64 {
        0.01
    }

    fn check(&self) -> Result<()> {
        is_amount("`lr_decay`", self.lr_decay)?;
        is_amount("`initial_accumulator`", self.initial_accumulator)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        if self.lr_decay == 0.0 {
            return Ok(Vec::new());
        }
        Ok(vec![((&step.t - 1.0) * self.lr_decay + 1.0).check()?])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let sum = u.slot("sum", self.initial_accumulator)? + &u.grad * &u.grad;
        u.put("sum", &sum)?;
        let lr = match self.lr_decay == 0.0 {
            true => u.lr.clone(),
            false => &u.lr / u.shared(0)?,
        };
        (&u.param - lr * (&u.grad / (sqrt(&sum)? + self.eps))).check()
    }
}
