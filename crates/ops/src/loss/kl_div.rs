//! `kl_div`: how much one distribution differs from another.

use super::reduction::{Reduction, alike, reduced};
use super::stable::number;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{dim_size, exp, gt, log, where_};

choices! {
    /// What becomes of the terms of [`kl_div`].
    pub enum KlReduction {
        /// Their mean.
        Mean = "mean",
        /// Their sum by the size of the first axis: the divergence itself.
        BatchMean = "batchmean",
        /// Their sum.
        Sum = "sum",
        /// They stay as they are.
        None = "none",
    }
}

options! {
    /// Options of [`kl_div`].
    pub struct KlDivOptions {
        /// What becomes of the terms.
        pub reduction: KlReduction = KlReduction::Mean,
        /// Whether the target holds logarithms, too.
        pub log_target: bool = false,
    }
}

/// The Kullback-Leibler divergence of the distribution whose logarithms are in `input` from the one
/// in `target`: `target * (log(target) - input)`, reduced. Where the target is zero, so is the term.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.5f64.ln(), 0.5f64.ln()], &[1, 2])?;
/// let y = Var::of(&[1.0, 0.0], &[1, 2])?;
/// let options = KlDivOptions::default().reduction(KlReduction::BatchMean);
/// assert!((kl_div(&x, &y, options)?.item::<f64>()? - 2.0f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn kl_div(input: &Var, target: &Var, options: KlDivOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    alike("kl_div", &[input, target])?;
    let terms = match options.log_target {
        true => exp(target)? * (target - input),
        false => {
            let counts = gt(target, &number(0.0, target)?)?;
            let safe = where_(&counts, target, &number(1.0, target)?)?;
            where_(&counts, &(target * (log(&safe)? - input)), &zeros_like(target)?)?
        }
    };
    let terms = terms.check()?;
    match options.reduction {
        KlReduction::Mean => reduced(&terms, Reduction::Mean),
        KlReduction::Sum => reduced(&terms, Reduction::Sum),
        KlReduction::None => Ok(terms),
        KlReduction::BatchMean => {
            let batch = judged("kl_div", &[input, target], |types| match types[0].dims() {
                [batch, ..] => Ok(*batch),
                [] => Err(Error::shape("a scalar has no batch to take the mean of")),
            })?;
            div(&reduced(&terms, Reduction::Sum)?, &dim_size(batch, terms.dtype())?)
        }
    }
}
