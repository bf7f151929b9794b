//! Gradient descent with momentum.

use fluvial_core::{Result, Var};
use fluvial_ops::update::MomentumUpdate;
use fluvial_ops::{gt, where_};

use crate::optim::rule::{AtOnce, Rule, Step, is_amount, optimizer};

optimizer! {
    /// Gradient descent with momentum, as PyTorch's `SGD`: `v = momentum * v + (1 - dampening) * g`
    /// (just `g` in the first step), then `w -= lr * v`; after Nesterov, `w -= lr * (g + momentum * v)`.
    ///
    /// Remembers `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let optimizer = Momentum::new(["w"], 0.25).momentum(0.5);
    /// for _ in 0..2 {
    ///     let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(4.0)))?;
    ///     optimizer.minimize(&(&w * &w))?;
    /// }
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 0.0); // 4 - 2, then 2 - (1 + 0.5 * 2)
    /// assert_eq!(state.tensor("momentum.v.w")?.item::<f64>()?, 8.0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> w = fl.parameter("w", (), init=1.0)
    /// >>> optimizer = fl.optimizer.Momentum(["w"], 0.1, momentum=0.5)
    /// >>> _ = optimizer.minimize(w * w)
    /// >>> fl.read_state("momentum.v.w").item()
    /// 2.0
    /// ```
    pub Momentum = "Momentum" | MomentumOptimizer;
    MomentumRule {
        /// How much of the direction of earlier steps is kept.
        momentum: f64 = 0.9,
        /// What part of the gradient is left out.
        dampening: f64 = 0.0,
        /// Whether the gradient is looked at one step ahead.
        nesterov | use_nesterov: bool = false,
    }
}

impl Rule for MomentumRule {
    fn name(&self) -> &str {
        "momentum"
    }

    fn check(&self) -> Result<()> {
        is_amount("`momentum`", self.momentum)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        if self.dampening == 0.0 {
            return Ok(vec![Var::scalar(1.0)]);
        }
        // The first step takes the whole gradient.
        let later = gt(&step.t, &Var::scalar(1.0))?;
        let part = Var::scalar(1.0 - self.dampening);
        Ok(vec![where_(&later, &part, &Var::scalar(1.0))?])
    }

    fn at_once(&self, decay: f64, decoupled: bool) -> Option<AtOnce> {
        let MomentumRule { momentum, nesterov, .. } = *self;
        let op = MomentumUpdate { momentum, nesterov, decay, decoupled };
        Some(AtOnce { op: op.into(), slots: &["v"] })
    }
}
