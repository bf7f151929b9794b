//! `gaussian_nll_loss`: values against their expectation and variance.

use super::reduction::{Reduction, alike, floats, reduced};
use super::stable::number;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{log, maximum};

options! {
    /// Options of [`gaussian_nll_loss`].
    pub struct GaussianNllLossOptions {
        /// What becomes of the losses of single elements.
        pub reduction: Reduction = Reduction::Mean,
        /// Whether the constant part is there.
        pub full: bool = false,
        /// The least variance. It is raised without influence on the gradient.
        pub eps: f64 = 1e-6,
    }
}

/// The negative logarithm of the density of `target` under normal distributions of mean `input` and
/// the given variance, which is broadcast, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let of = |x: f64| Var::of(&[x], &[1]);
/// let loss = gaussian_nll_loss(&of(1.0)?, &of(3.0)?, &of(1.0)?, GaussianNllLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gaussian_nll_loss(
    input: &Var,
    target: &Var,
    variance: &Var,
    options: GaussianNllLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target, variance) =
        (&precision.of(input)?, &precision.of(target)?, &precision.of(variance)?);
    alike("gaussian_nll_loss", &[input, target])?;
    judged("gaussian_nll_loss", &[input, target, variance], |types| {
        floats(&types[2..])?;
        match broadcast(types[0].dims(), types[2].dims())?[..] == *types[0].dims() {
            true => Ok(()),
            false => Err(Error::shape(format!("the variance {} has other axes", types[2]))),
        }
    })?;
    let raised = maximum(variance, &number(options.eps, variance)?)?;
    let variance = variance + stop_gradient(&(raised - variance))?;
    let difference = sub(input, target)?;
    let mut losses = (log(&variance)? + &difference * &difference / &variance) * 0.5;
    if options.full {
        losses = losses + 0.5 * std::f64::consts::TAU.ln();
    }
    reduced(&losses, options.reduction)
}
