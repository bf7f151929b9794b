//! Adafactor.

use fluvial_core::{DType, Dim, Error, Result, Var};
use fluvial_ops::{matmul, maximum, mean, minimum, pow, rsqrt, sqrt};

use crate::optim::rule::{Decay, Rule, Step, Update, is_amount, optimizer};

optimizer! {
    /// Adafactor (Shazeer and Stern, 2018), as PyTorch's: of a matrix it remembers means of squared gradients by
    /// rows and by columns alone, of which it makes an estimate for each element. Steps are as long as the
    /// parameter is, times the rate, 0.01 as a rule, or one over the root of the number of steps if that is less.
    /// Weight decay is decoupled.
    ///
    /// Remembers `row` and `column`, or `squares` of vectors.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let state = State::new();
    /// let _scope = state.enter();
    /// let w = parameter("w", Type::of(DType::F64, &[2, 2])?, || Var::of(&[1.0; 4], &[2, 2]))?;
    /// let optimizer = Adafactor::new(["w"], 0.25);
    /// optimizer.minimize(&sum(&(&w * &w), &[], false)?)?;
    /// assert_eq!(state.tensor("w")?.to_vec::<f64>()?, [0.75; 4]);
    /// assert_eq!(state.tensor("adafactor.row.w")?.dims(), [2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub Adafactor = "Adafactor";
    AdafactorRule {
        /// The power of the number of steps by which means forget.
        beta2_decay: f64 = -0.8,
        /// The least estimate, which is the precision of the element type if it is zero; and the least
        /// length that a parameter counts.
        eps: (f64, f64) = (0.0, 1e-3),
        /// How long a step may be, as a mean over elements, before it is shortened.
        d: f64 = 1.0,
    }
}

impl Rule for AdafactorRule {
    fn name(&self) -> &str {
        "adafactor"
    }

    fn rate(&self) -> f64 {
        0.01
    }

    fn decay(&self) -> Decay {
        Decay::ByRule
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn check(&self) -> Result<()> {
        is_amount("the first of `eps`", self.eps.0)?;
        is_amount("the second of `eps`", self.eps.1)?;
        match (self.d.is_finite() && self.d > 0.0, self.beta2_decay <= 0.0) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::argument(format!("`d` is {}, but must be positive", self.d))),
            _ => Err(Error::argument(format!(
                "`beta2_decay` is {}, but must be zero or less",
                self.beta2_decay
            ))),
        }
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let new = pow(&step.t, &Var::scalar(self.beta2_decay))?;
        Ok(vec![new, rsqrt(&step.t)?])
    }

    fn update(&self, u: &Update) -> Result<Var> {
        let (new, slowed) = (u.shared(0)?, u.shared(1)?);
        let one = &u.lr * 0.0 + 1.0;
        let least = match self.eps.0 {
            0.0 => precision(u.grad.dtype()),
            least => least,
        };
        let alpha = maximum(&length(&u.param)?, &(&one * self.eps.1))? * minimum(&u.lr, slowed)?;
        let param = &u.param * (1.0 - &u.lr * u.weight_decay);
        let towards = |old: &Var, found: &Var| (old + (found - old) * new).check();
        let squares = (&u.grad * &u.grad).check()?;
        let estimate = match u.grad.rank() {
            0 | 1 => {
                let kept = towards(&u.slot("squares", 0.0)?, &squares)?;
                u.put("squares", &kept)?;
                kept
            }
            rank => {
                let kept = |slot: &str, axis: usize| {
                    let mut dims = u.grad.dims().to_vec();
                    dims[axis] = Dim::size(1);
                    let found = mean(&squares, &[axis as i64], true)?;
                    let kept = towards(&u.slot_of(slot, &dims, 0.0)?, &found)?;
                    u.put(slot, &kept)?;
                    Ok::<_, Error>(kept)
                };
                let (row, column) = (kept("row", rank - 1)?, kept("column", rank - 2)?);
                let whole = maximum(&mean(&row, &[-2], true)?, &(&one * least))?;
                (matmul(&row, &column)? / whole).check()?
            }
        };
        let update = rsqrt(&maximum(&estimate, &(&one * (least * least)))?)? * &u.grad;
        let shortened = maximum(&(length(&update)? / self.d), &one)?;
        (param - alpha / shortened * update).check()
    }
}

/// The distance from one to the next number.
fn precision(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => f64::from(f32::EPSILON),
    }
}

/// The root of the mean square of the elements.
fn length(x: &Var) -> Result<Var> {
    sqrt(&mean(&(x * x), &[], false)?)
}
