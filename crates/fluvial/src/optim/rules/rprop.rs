//! Rprop.

use fluvial_core::{Result, Var};
use fluvial_ops::{clip, eq, gt, lt, sign, where_};

use crate::optim::rule::{Rule, Update, is_amount, optimizer};

optimizer! {
    /// Rprop (Riedmiller and Braun, 1993), as PyTorch's, for gradients of whole data: goes by signs alone, by a
    /// size of its own for each element, which begins as the rate, grows while the sign stays and shrinks where
    /// it changes. The usual rate is 0.01.
    ///
    /// Remembers `before` and `size`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[3.0, -4.0], &[2]))?;
    /// Rprop::new(["w"], 0.5).minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [2.5, -3.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub Rprop = "Rprop";
    RpropRule {
        /// How sizes shrink and grow.
        etas: (f64, f64) = (0.5, 1.2),
        /// The least and the greatest size.
        step_sizes: (f64, f64) = (1e-6, 50.0),
    }
}

impl Rule for RpropRule {
    fn name(&self) -> &str {
        "rprop"
    }

    fn rate(&self) -> f64 {
        0.01
    }

    fn check(&self) -> Result<()> {
        let (shrinks, grows) = self.etas;
        if !(0.0 < shrinks && shrinks < 1.0 && 1.0 < grows && grows.is_finite()) {
            let what = format!("`etas` are {shrinks} and {grows}, but 1 lies between them");
            return Err(fluvial_core::Error::argument(what).remedy("such as (0.5, 1.2)"));
        }
        is_amount("the first of `step_sizes`", self.step_sizes.0)?;
        is_amount("the second of `step_sizes`", self.step_sizes.1)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (before, known) = (u.slot("before", 0.0)?, u.slot("size", 0.0)?);
        let zero = &known * 0.0;
        // A size is never zero once it was chosen.
        let size = where_(&eq(&known, &zero)?, &(&zero + &u.lr), &known)?;
        let agrees = (&u.grad * &before).check()?;
        let turned = lt(&agrees, &zero)?;
        let shrunk = where_(&turned, &(&size * self.etas.0), &size)?;
        let grown = where_(&gt(&agrees, &zero)?, &(&size * self.etas.1), &shrunk)?;
        let size = clip(&grown, Some(self.step_sizes.0), Some(self.step_sizes.1))?;
        let grad = where_(&turned, &zero, &u.grad)?;
        u.put("size", &size)?;
        u.put("before", &grad)?;
        (&u.param - sign(&grad)? * size).check()
    }
}
