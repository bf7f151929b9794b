//! Plain gradient descent.

use fluvial_ops::update::SgdUpdate;

use crate::optim::rule::{AtOnce, Rule, optimizer};

optimizer! {
    /// Gradient descent: `w -= lr * g`.
    ///
    /// With `momentum`, Python's `SGD` is `Momentum`, whose options it takes then.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// Sgd::new(["w"], 0.25).minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 1.5);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> w = fl.parameter("w", (2,), init=1.0)
    /// >>> _ = fl.optimizer.SGD(["w"], 0.5).minimize(fl.sum(w * w))
    /// >>> fl.read_state("w").tolist()
    /// [0.0, 0.0]
    /// ```
    pub Sgd = "SGD" extends WithMomentum | SGDOptimizer;
    SgdRule {}
}

impl Rule for SgdRule {
    fn name(&self) -> &str {
        "sgd"
    }

    fn remembers(&self) -> bool {
        false
    }

    fn at_once(&self, decay: f64, decoupled: bool) -> Option<AtOnce> {
        Some(AtOnce { op: SgdUpdate { decay, decoupled }.into(), slots: &[] })
    }
}
