//! FTRL-Proximal.

use fluvial_core::{Result, Var};
use fluvial_ops::{abs, maximum, sign, sqrt};

use crate::optim::rule::{Rule, Update, is_amount, optimizer};

optimizer! {
    /// FTRL-Proximal (McMahan et al., 2013), which makes many parameters exactly zero; `lr` is the
    /// paper's alpha: `sigma = (sqrt(n + g²) - sqrt(n)) / lr`, `z += g - sigma * w`, `n += g²`, and
    /// `w = -(z - sign(z) * l1) / ((beta + sqrt(n)) / lr + l2)`, or 0 where `|z| <= l1`.
    ///
    /// For sparse parameters; remembers `n` and `z`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let optimizer = Ftrl::new(["w"], 1.0).l1(0.5);
    /// let x = Var::of(&[2.0, 0.25], &[2])?;
    /// let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[0.0, 0.0], &[2]))?;
    /// optimizer.minimize(&sum(&(w * x), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [-0.5, 0.0]); // the weak one stays zero
    /// # Ok::<(), Error>(())
    /// ```
    pub Ftrl = "Ftrl" | FtrlOptimizer;
    FtrlRule {
        /// Strength of the L1 penalty.
        l1: f64 = 0.0,
        /// Strength of the L2 penalty.
        l2: f64 = 0.0,
        /// Slows the first steps down.
        beta: f64 = 1.0,
        /// Where the sums of squares begin.
        initial_accumulator: f64 = 0.0,
    }
}

impl Rule for FtrlRule {
    fn name(&self) -> &str {
        "ftrl"
    }

    fn check(&self) -> Result<()> {
        is_amount("`l1`", self.l1)?;
        is_amount("`l2`", self.l2)?;
        is_amount("`beta`", self.beta)?;
        is_amount("`initial_accumulator`", self.initial_accumulator)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let before = u.slot("n", self.initial_accumulator)?;
        let n = &before + &u.grad * &u.grad;
        u.put("n", &n)?;
        let root = sqrt(&n)?;
        let sigma = (&root - sqrt(&before)?) / &u.lr;
        let z = (u.slot("z", 0.0)? + &u.grad - sigma * &u.param).check()?;
        u.put("z", &z)?;
        let size = abs(&z)? - self.l1;
        let excess = sign(&z)? * maximum(&size, &(&size * 0.0))?;
        (-(excess / ((root + self.beta) / &u.lr + self.l2))).check()
    }
}
