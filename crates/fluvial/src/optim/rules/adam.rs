//! Adam.

use fluvial_core::{Result, Var};
use fluvial_ops::sqrt;
use fluvial_ops::update::AdamUpdate;

use crate::optim::rule::{AtOnce, Rule, Step, Update, are_betas, is_amount, optimizer};

optimizer! {
    /// Adam (Kingma and Ba, 2014), as PyTorch's; the usual rate is 0.001. With `amsgrad`, the
    /// second moment never shrinks (Reddi, Kale and Kumar, 2018).
    ///
    /// Steps by the fading means of gradients and of their squares; remembers `m` and `v` (`v_max`).
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
    ///
    /// ```python
    /// >>> net = fl.nn.Linear(3, 1, name="net")
    /// >>> optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)
    /// >>> def step(x, y):
    /// ...     loss = fl.mean(fl.square(net(x) - y))
    /// ...     optimizer.minimize(loss)
    /// ...     return loss
    /// >>> x, y = fl.full((4, 3), 0.5), fl.full((4, 1), 1.0)
    /// >>> first = step(x, y)                                             # line by line
    /// >>> program = fl.build(step, {"x": "f32[n, 3]", "y": "f32[n, 1]"})  # as a program
    /// >>> bool(program(x, y) < first), fl.read_state("adam.step").item()
    /// (True, 2)
    /// ```
    pub Adam = "Adam" | AdamOptimizer;
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
