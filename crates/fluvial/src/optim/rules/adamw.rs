//! Adam with decoupled weight decay.

use fluvial_core::{Result, Var};

use super::adam::AdamRule;
use crate::optim::rule::{AtOnce, Decay, Rule, Step, optimizer};

optimizer! {
    /// [`Adam`](crate::optim::Adam) with decoupled weight decay (Loshchilov and Hutter, 2017), 0.01 unless
    /// given: the parameter is first multiplied by `1 - lr * weight_decay`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(4.0)))?;
    /// AdamW::new(["w"], 0.5).weight_decay(0.5).eps(0.0).minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.5); // 4 * (1 - 0.25) - 0.5
    /// # Ok::<(), Error>(())
    /// ```
    pub AdamW = "AdamW" extends Adam;
    AdamWRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
        /// Whether the largest second moment so far is taken.
        amsgrad: bool = false,
    }
}

impl AdamWRule {
    fn adam(&self) -> AdamRule {
        AdamRule { betas: self.betas, eps: self.eps, amsgrad: self.amsgrad }
    }
}

impl Rule for AdamWRule {
    fn name(&self) -> &str {
        "adamw"
    }

    fn decay(&self) -> Decay {
        Decay::Decoupled
    }

    fn weight_decay(&self) -> f64 {
        0.01
    }

    fn check(&self) -> Result<()> {
        self.adam().check()
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        self.adam().shared(step)
    }

    fn at_once(&self, decay: f64, decoupled: bool) -> Option<AtOnce> {
        self.adam().at_once(decay, decoupled)
    }
}
