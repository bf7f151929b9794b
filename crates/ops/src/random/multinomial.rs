//! `multinomial`: draws from classes, derived from `uniform` and `searchsorted`.

use super::bernoulli::is_probability;
use super::{exponential, uniform};
use crate::narrow;
use crate::prelude::*;
use crate::scans::cumsum;
use crate::shape::derived::judged;
use crate::sort::{TopPositions, searchsorted};

/// `samples` draws (`i64`) from the classes along the last axis of `probabilities`, which need not add up
/// to one. Without `replacement` no class is drawn twice; classes of probability zero are drawn only
/// when no others are left.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let probabilities = Var::of(&[0.0, 3.0, 0.0], &[3])?;
/// assert_eq!(multinomial(&probabilities, 2, true)?.to_vec::<i64>()?, [1, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn multinomial(probabilities: &Var, samples: usize, replacement: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    let (classes, mut dims) = judged("multinomial", &[probabilities], |ty| {
        is_probability(&ty[0])?;
        let Some(&classes) = ty[0].dims().last() else {
            return Err(Error::shape("a single probability is not a distribution"));
        };
        let few = classes.value().is_some_and(|n| if replacement { n == 0 } else { n < samples });
        if few && samples > 0 {
            return Err(Error::argument(format!("there are no {samples} of {classes} classes"))
                .remedy("draw fewer, or with replacement"));
        }
        Ok((classes, SmallVec::<[Dim; 8]>::from_slice(ty[0].dims())))
    })?;
    let weights = cast(probabilities, DType::F64)?;
    if !replacement {
        // The first of several exponential waiting times is that of a class with its share of the rates.
        let waiting = exponential(&weights.ty(), 1.0)?;
        let first = TopPositions { k: samples, axis: -1, largest: true };
        return bind1(first, &[&(weights / waiting)]);
    }
    let sums = cumsum(&weights, -1)?;
    let last = classes.sub(Dim::size(1))?;
    let total = narrow(&sums, -1, last, Dim::size(1))?;
    if let Some(draws) = dims.last_mut() {
        *draws = Dim::size(samples);
    }
    // From above zero to the total, included: the first sum that reaches it is never that of a class
    // without weight.
    let level = (1.0 - uniform(&Type::new(DType::F64, &dims)?, 0.0, 1.0)?) * total;
    searchsorted(&sums, &level, false)
}
