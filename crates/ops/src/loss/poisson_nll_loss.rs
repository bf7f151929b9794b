//! `poisson_nll_loss`: counts against their expected number.

use super::reduction::{Reduction, alike, reduced};
use super::stable::number;
use crate::prelude::*;
use crate::{exp, gt, log, where_};

options! {
    /// Options of [`poisson_nll_loss`].
    pub struct PoissonNllLossOptions {
        /// What becomes of the losses of single elements.
        pub reduction: Reduction = Reduction::Mean,
        /// Whether the input is the logarithm of the expected number.
        pub log_input: bool = true,
        /// Whether the part that depends on the target only is there, by Stirling's formula.
        pub full: bool = false,
        /// Added to an expected number before its logarithm is taken.
        pub eps: f64 = 1e-8,
    }
}

/// The negative logarithm of the probability of the counts in `target` where the numbers in `input`
/// are expected, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[0.0], &[1])?, Var::of(&[3.0], &[1])?);
/// let loss = poisson_nll_loss(&x, &y, PoissonNllLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn poisson_nll_loss(input: &Var, target: &Var, options: PoissonNllLossOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("poisson_nll_loss", &[input, target])?;
    let mut losses = match options.log_input {
        true => exp(input)? - target * input,
        false => input - target * log(&(input + options.eps))?,
    };
    if options.full {
        let counts = gt(target, &number(1.0, target)?)?;
        let safe = where_(&counts, target, &number(1.0, target)?)?;
        let stirling = &safe * log(&safe)? - &safe + log(&(&safe * std::f64::consts::TAU))? * 0.5;
        losses = losses + where_(&counts, &stirling, &zeros_like(target)?)?;
    }
    reduced(&losses, options.reduction)
}
