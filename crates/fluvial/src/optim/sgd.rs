//! Plain gradient descent.

use fluvial_core::{Result, Var};

use super::at_once;
use super::rule::{Rule, Update, optimizer};

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
    const NAME: &'static str = "sgd";

    fn update(&self, u: &Update) -> Result<Var> {
        (&u.param - &u.lr * &u.grad).check()
    }

    fn update_at_once(&self, u: &Update) -> Result<Option<Var>> {
        at_once::descent(u)
    }
}
