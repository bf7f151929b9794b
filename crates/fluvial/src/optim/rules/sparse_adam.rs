//! Adam for rows that are seldom used.

use fluvial_core::{Result, Var};
use fluvial_ops::{any, ne, sqrt, where_};

use crate::optim::rule::{Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// Adam that leaves alone the rows whose gradient is zero, and what it remembers of them, as PyTorch's
    /// `SparseAdam` does with rows that a batch did not use. With `minimize_rows`, only the rows that were looked
    /// up are touched at all. The usual rate is 0.001.
    ///
    /// Remembers `m` and `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2, 1])?, || Var::of(&[3.0, 4.0], &[2, 1]))?;
    /// let loss = sum(&narrow(&w, 0, Dim::size(1), Dim::size(1))?, &[], false)?;
    /// SparseAdam::new(["w"], 0.5).eps(0.0).minimize(&loss)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [3.0, 3.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub SparseAdam = "SparseAdam";
    SparseAdamRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
    }
}

impl Rule for SparseAdamRule {
    fn name(&self) -> &str {
        "sparse_adam"
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let second = sqrt(&step.bias_correction(self.betas.1)?)?;
        Ok(vec![(second / step.bias_correction(self.betas.0)?).check()?])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let axes: Vec<i64> = (1..u.grad.rank() as i64).collect();
        let is_used = ne(&u.grad, &(&u.grad * 0.0))?;
        let is_used = if axes.is_empty() { is_used } else { any(&is_used, &axes, true)? };
        let (m, v) = (u.slot("m", 0.0)?, u.slot("v", 0.0)?);
        let new_m = &m * self.betas.0 + &u.grad * (1.0 - self.betas.0);
        let new_v = &v * self.betas.1 + &u.grad * &u.grad * (1.0 - self.betas.1);
        u.put("m", &where_(&is_used, &new_m, &m)?)?;
        u.put("v", &where_(&is_used, &new_v, &v)?)?;
        let step = &u.lr * u.shared(0)? * (new_m / (sqrt(&new_v)? + self.eps));
        where_(&is_used, &(&u.param - step), &u.param)
    }
}
