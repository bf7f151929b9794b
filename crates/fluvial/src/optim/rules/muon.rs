//! Muon.

use fluvial_core::{Error, Result, Var};
use fluvial_ops::{matmul, maximum, transpose};

use super::lars::norm;
use crate::optim::rule::{Decay, Rule, Update, is_amount, is_fraction, optimizer};

optimizer! {
    /// Muon (Jordan et al., 2024), as PyTorch's, for matrices: the step is the nearest matrix to the momentum whose
    /// singular values are near one, found by Newton and Schulz's iteration. Weight decay is decoupled. Vectors
    /// and scalars belong to another optimizer.
    ///
    /// The iteration is done in the element type of the parameter; PyTorch does it in bfloat16. Remembers `m`.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[1, 1])?, || Var::of(&[3.0], &[1, 1]))?;
    /// let optimizer = Muon::new(["w"], 0.5).ns_steps(0.0).weight_decay(0.0);
    /// optimizer.minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub Muon = "Muon";
    MuonRule {
        /// How much of the direction of earlier steps is kept.
        momentum: f64 = 0.95,
        /// Whether the gradient counts in the step once more.
        nesterov: bool = true,
        /// The number of iterations.
        ns_steps: f64 = 5.0,
        /// The least norm that the momentum is divided by.
        eps: f64 = 1e-7,
        /// Whether steps are scaled to the usual size of AdamW's, `0.2 * sqrt(max(rows, columns))`, in place of
        /// `sqrt(max(1, rows / columns))`.
        match_rms_adamw: bool = false,
    }
}

/// The coefficients of the iteration.
const COEFFICIENTS: [f64; 3] = [3.4445, -4.775, 2.0315];

impl Rule for MuonRule {
    fn name(&self) -> &str {
        "muon"
    }

    fn decay(&self) -> Decay {
        Decay::Decoupled
    }

    fn weight_decay(&self) -> f64 {
        0.1
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        is_fraction("`momentum`", self.momentum)?;
        is_amount("`eps`", self.eps)?;
        match self.ns_steps.fract() == 0.0 && (0.0..100.0).contains(&self.ns_steps) {
            true => Ok(()),
            false => Err(Error::argument(format!("`ns_steps` is {}", self.ns_steps))
                .remedy("give a number of iterations below 100")),
        }
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let dims: Vec<usize> = u.grad.dims().iter().filter_map(|dim| dim.value()).collect();
        let [rows, columns] = dims[..] else {
            let what =
                format!("Muon trains matrices, not `{}`, which is {}", u.name(), u.grad.ty());
            return Err(Error::argument(what).remedy("give it to another optimizer, such as AdamW"));
        };
        let m = u.slot("m", 0.0)?;
        let m = (&m + (&u.grad - &m) * (1.0 - self.momentum)).check()?;
        u.put("m", &m)?;
        let direction = match self.nesterov {
            true => (&u.grad + (&m - &u.grad) * self.momentum).check()?,
            false => m,
        };
        let step = match rows > columns {
            true => transpose(&self.orthogonal(&transpose(&direction, 0, 1)?)?, 0, 1)?,
            false => self.orthogonal(&direction)?,
        };
        let (rows, columns) = (rows as f64, columns as f64);
        let scale = match self.match_rms_adamw {
            true => 0.2 * rows.max(columns).sqrt(),
            false => (rows / columns).max(1.0).sqrt(),
        };
        (&u.param - &u.lr * scale * step).check()
    }
}

impl MuonRule {
    /// A wide matrix with its singular values brought near one.
    fn orthogonal(&self, x: &Var) -> Result<Var> {
        let [a, b, c] = COEFFICIENTS;
        let norm = norm(x)?;
        let least = &norm * 0.0 + self.eps;
        let mut x = (x / maximum(&norm, &least)?).check()?;
        for _ in 0..self.ns_steps as usize {
            let gram = matmul(&x, &transpose(&x, 0, 1)?)?;
            let inner = (&gram * b + matmul(&gram, &gram)? * c).check()?;
            x = (&x * a + matmul(&inner, &x)?).check()?;
        }
        Ok(x)
    }
}
