//! LARS.

use fluvial_core::{Result, Var};
use fluvial_ops::{gt, logical_and, sqrt, sum, where_};

use crate::optim::rule::{Decay, Rule, Update, is_amount, optimizer};

optimizer! {
    /// LARS (You, Gitman and Ginsburg, 2017): momentum, with a rate for each parameter that fits
    /// the ratio of its norm to that of its gradient:
    /// `local = trust * |w| / (|g| + weight_decay * |w| + eps)`,
    /// `v = momentum * v + lr * local * (g + weight_decay * w)`, `w -= v`. Where either norm is zero,
    /// `local` is 1.
    ///
    /// Remembers `v`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[3.0, 4.0], &[2]))?;
    /// Lars::new(["w"], 0.5).trust(0.25).minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [2.625, 3.5]); // an eighth of the norm
    /// # Ok::<(), Error>(())
    /// ```
    pub Lars = "Lars" | LarsMomentum | LarsMomentumOptimizer;
    LarsRule {
        /// How much of the direction of earlier steps is kept.
        momentum: f64 = 0.9,
        /// How far a parameter may go, in parts of its norm.
        trust | lars_coeff: f64 = 0.001,
        /// Keeps the divisor from zero.
        eps: f64 = 0.0,
    }
    others(weight_decay | lars_weight_decay)
}

impl Rule for LarsRule {
    fn name(&self) -> &str {
        "lars"
    }

    fn decay(&self) -> Decay {
        Decay::ByRule
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        is_amount("`momentum`", self.momentum)?;
        is_amount("`trust`", self.trust)?;
        is_amount("`eps`", self.eps)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (of_param, of_grad) = (norm(&u.param)?, norm(&u.grad)?);
        let divisor = &of_grad + &of_param * u.weight_decay + self.eps;
        let local = ratio(&of_param, &of_grad, &(&of_param * self.trust / divisor))?;
        let direction = &u.grad + &u.param * u.weight_decay;
        let v = u.slot("v", 0.0)? * self.momentum + (&u.lr * local) * direction;
        u.put("v", &v)?;
        (&u.param - v).check()
    }
}

/// The length of a tensor, taken as one vector.
pub(super) fn norm(x: &Var) -> Result<Var> {
    sqrt(&sum(&(x * x), &[], false)?)
}

/// `ratio` where both norms are positive, else one.
pub(super) fn ratio(a: &Var, b: &Var, ratio: &Var) -> Result<Var> {
    let zero = a * 0.0;
    let positive = logical_and(&gt(a, &zero)?, &gt(b, &zero)?)?;
    where_(&positive, ratio, &(zero + 1.0))
}
