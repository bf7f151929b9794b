//! Plain gradient descent.

use fluvial_ops::update::SgdUpdate;

use super::rule::{AtOnce, Rule, optimizer};

optimizer! {
    /// Gradient descent: `w -= lr * g`.
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
    Sgd:
    /// The rule of [`Sgd`].
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
