//! Averaged gradient descent.

use fluvial_core::{Result, Var};
use fluvial_ops::{maximum, pow};

use crate::optim::rule::{Rule, Step, Update, is_amount, optimizer};

optimizer! {
    /// Averaged gradient descent (Polyak and Juditsky, 1992), as PyTorch's: the rate falls as
    /// `lr / (1 + lambd * lr * (t - 1)) ^ alpha`, and `ax` is the mean of the parameters after step `t0`, before
    /// that the parameters themselves. The usual rate is 0.01.
    ///
    /// Remembers `ax`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// let optimizer = Asgd::new(["w"], 0.25).lambd(0.0);
    /// optimizer.minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 1.5);
    /// assert_eq!(state.tensor("asgd.ax.w")?.item::<f64>()?, 1.5);
    /// # Ok::<(), Error>(())
    /// ```
    pub Asgd = "ASGD";
    AsgdRule {
        /// How much parameters decay, and how fast the rate does.
        lambd: f64 = 1e-4,
        /// The power by which the rate falls.
        alpha: f64 = 0.75,
        /// The step from which on the mean is taken.
        t0: f64 = 1e6,
    }
}

impl Rule for AsgdRule {
    fn name(&self) -> &str {
        "asgd"
    }

    fn rate(&self) -> f64 {
        0.01
    }

    fn check(&self) -> Result<()> {
        is_amount("`lambd`", self.lambd)?;
        is_amount("`alpha`", self.alpha)?;
        is_amount("`t0`", self.t0)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let done = (&step.t - 1.0).check()?;
        let averaged = maximum(&(&done - self.t0), &Var::scalar(1.0))?;
        Ok(vec![done, (1.0 / averaged).check()?])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let slowed = 1.0 + &u.lr * self.lambd * u.shared(0)?;
        let power = &u.lr * 0.0 + self.alpha;
        let rate = (&u.lr / pow(&slowed, &power)?).check()?;
        let param = (&u.param * (1.0 - &rate * self.lambd) - &rate * &u.grad).check()?;
        let mean = u.slot("ax", 0.0)?;
        u.put("ax", &(&mean + (&param - &mean) * u.shared(1)?))?;
        Ok(param)
    }
}
