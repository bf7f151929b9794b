//! Lion.

use fluvial_core::{Result, Var};
use fluvial_ops::sign;

use crate::optim::rule::{Decay, Rule, Update, are_betas, optimizer};

optimizer! {
    /// Lion (Chen et al., 2023): goes by the sign of a moment, so each step has one size. Weight
    /// decay is decoupled. The usual rate is a third to a tenth of Adam's.
    ///
    /// Remembers `m`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[3.0, -4.0], &[2]))?;
    /// Lion::new(["w"], 0.5).minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [2.5, -3.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub Lion = "Lion";
    LionRule {
        /// How much of the moment counts in the step, and how much of it is kept.
        betas: (f64, f64) = (0.9, 0.99),
    }
}

impl Rule for LionRule {
    fn name(&self) -> &str {
        "lion"
    }

    fn decay(&self) -> Decay {
        Decay::Decoupled
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let m = u.slot("m", 0.0)?;
        let direction = sign(&(&m * self.betas.0 + &u.grad * (1.0 - self.betas.0)))?;
        u.put("m", &(m * self.betas.1 + &u.grad * (1.0 - self.betas.1)))?;
        (&u.param - &u.lr * direction).check()
    }
}
