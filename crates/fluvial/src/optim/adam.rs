//! Adam.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;
use fluvial_ops::update::AdamUpdate;

use super::rule::{AtOnce, Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// Adam (Kingma and Ba, 2014), as PyTorch's; the usual rate is 0.001. With `amsgrad`, the
    /// second moment never shrinks (Reddi, Kale and Kumar, 2018).
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let optimizer = Adam::new(["w"], 0.1).betas((0.9, 0.99));
    /// for _ in 0..100 {
    ///     let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
    ///     optimizer.minimize(&(&w * &w))?;
    /// }
    /// assert!(state.tensor("w")?.item::<f64>()?.abs() < 0.1);
    /// assert_eq!(state.tensor("adam.step")?.item::<i64>()?, 100);
    /// # Ok::<(), Error>(())
    /// ```
    Adam:
    /// The rule of [`Adam`].
    AdamRule {
        /// How much of the two moments is kept.
        betas: (f64, f64) = (0.9, 0.999),
        /// Keeps the divisor from zero.
        eps: f64 = 1e-8,
        /// Whether the largest second moment so far is taken.
        amsgrad: bool = false,
    }
}

impl Rule for AdamRule {
    fn name(&self) -> &str {
        "adam"
    }

    fn check(&self) -> Result<()> {
        are_betas(self.betas)?;
        is_amount("`eps`", self.eps)
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let second = sqrt(&step.bias_correction(self.betas.1)?)?;
        Ok(vec![step.bias_correction(self.betas.0)?, second])
    }

    fn at_once(&self, decay: f64, decoupled: bool) -> Option<AtOnce> {
        let AdamRule { betas: (beta1, beta2), eps, amsgrad } = *self;
        let op = AdamUpdate { beta1, beta2, eps, amsgrad, decay, decoupled };
        Some(AtOnce {
            op: op.into(),
            slots: if amsgrad { &["m", "v", "v_max"] } else { &["m", "v"] },
        })
    }
}

/// The running means of the gradient and of its square, brought up to date.
pub(super) fn moments(u: &Update, betas: (f64, f64)) -> Result<(Var, Var)> {
    let m = first_moment(u, betas.0)?;
    let v = (u.slot("v", 0.0)? * betas.1 + &u.grad * &u.grad * (1.0 - betas.1)).check()?;
    u.put("v", &v)?;
    Ok((m, v))
}

/// The running mean of the gradient, brought up to date.
pub(super) fn first_moment(u: &Update, beta: f64) -> Result<Var> {
    let m = (u.slot("m", 0.0)? * beta + &u.grad * (1.0 - beta)).check()?;
    u.put("m", &m)?;
    Ok(m)
}
