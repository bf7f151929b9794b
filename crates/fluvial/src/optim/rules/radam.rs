//! RAdam.

use fluvial_core::{Result, Var};
use fluvial_ops::{gt, maximum, pow, sqrt, where_};

use super::adam::moments;
use crate::optim::rule::{Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// RAdam (Liu et al., 2019), as PyTorch's: Adam that leaves its second moment out as long as
    /// too few steps were made to know it. The usual rate is 0.001.
    ///
    /// Remembers `m` and `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// RAdam::new(["w"], 0.25).betas((0.5, 0.999)).minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 1.5); // as plain descent at first
    /// # Ok::<(), Error>(())
    /// ```
    pub RAdam = "RAdam";
    RAdamRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
    }
}

impl Rule for RAdamRule {
    fn name(&self) -> &str {
        "radam"
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let second = step.bias_correction(self.betas.1)?;
        let limit = 2.0 / (1.0 - self.betas.1) - 1.0;
        let power = pow(&Var::scalar(self.betas.1), &step.t)?;
        let length = (limit - &step.t * 2.0 * power / &second).check()?;
        let known = gt(&length, &Var::scalar(5.0))?;
        // Below five the root is not taken; it must be a number all the same.
        let safe = maximum(&length, &Var::scalar(5.0))?;
        let ratio =
            (&safe - 4.0) * (&safe - 2.0) * limit / (&safe * ((limit - 4.0) * (limit - 2.0)));
        let rectified = sqrt(&(ratio * second))?;
        let (one, zero) = (Var::scalar(1.0), Var::scalar(0.0));
        Ok(vec![
            step.bias_correction(self.betas.0)?,
            where_(&known, &rectified, &zero)?,
            where_(&known, &zero, &one)?,
        ])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (m, v) = moments(u, self.betas)?;
        // One of the two factors is zero: the step is either adaptive or plain.
        let adaptive = u.shared(1)? / (sqrt(&v)? + self.eps);
        let direction = m * (adaptive + u.shared(2)?);
        (&u.param - (&u.lr / u.shared(0)?) * direction).check()
    }
}
