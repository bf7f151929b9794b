//! RMSProp.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;

use crate::optim::rule::{Rule, Update, is_amount, is_fraction, optimizer};

optimizer! {
    /// RMSProp (Tieleman and Hinton, 2012), as PyTorch's, with `eps` outside the root:
    /// `w -= lr * g / (sqrt(mean of g²) + eps)`.
    ///
    /// Rates fall with the mean of squared gradients; remembers `squares` (`mean`, `v`).
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    /// RmsProp::new(["w"], 0.5).alpha(0.75).eps(0.0).minimize(&(&w * &w))?;
    /// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub RmsProp = "RMSProp" | RMSprop | RMSPropOptimizer;
    RmsPropRule {
        /// How much of the running means is kept.
        alpha | rho: f64 = 0.99,
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
        /// How much of the direction of earlier steps is kept.
        momentum: f64 = 0.0,
        /// Whether the variance of the gradient is taken in place of its mean square.
        centered: bool = false,
    }
}

impl Rule for RmsPropRule {
    fn name(&self) -> &str {
        "rmsprop"
    }

    fn rate(&self) -> f64 {
        0.01
    }

    fn check(&self) -> Result<()> {
        is_fraction("`alpha`", self.alpha)?;
        is_amount("`eps`", self.eps)?;
        is_amount("`momentum`", self.momentum)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let squares = u.slot("squares", 0.0)? * self.alpha + &u.grad * &u.grad * (1.0 - self.alpha);
        u.put("squares", &squares)?;
        let spread = match self.centered {
            true => {
                let mean = u.slot("mean", 0.0)? * self.alpha + &u.grad * (1.0 - self.alpha);
                u.put("mean", &mean)?;
                squares - &mean * &mean
            }
            false => squares,
        };
        let mut direction = &u.grad / (sqrt(&spread)? + self.eps);
        if self.momentum > 0.0 {
            direction = u.slot("v", 0.0)? * self.momentum + direction;
            u.put("v", &direction)?;
        }
        (&u.param - &u.lr * direction).check()
    }
}
