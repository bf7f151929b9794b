//! `multi_margin_loss`: the label's score against all others.

use super::classes::{labels_fit, weights_fit};
use super::reduction::{Reduction, floats, reduced};
use super::stable::positive;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{dim_size, gather, sum, take_along_axis, unsqueeze};

options! {
    /// Options of [`multi_margin_loss`].
    pub struct MultiMarginLossOptions {
        /// What becomes of the losses of single labels.
        pub reduction: Reduction = Reduction::Mean,
        /// The power of the differences: 1 or 2.
        pub p: i64 = 1,
        /// By how much the label's score should be greater.
        pub margin: f64 = 1.0,
    }
}

/// For scores `[batch, classes]` and labels `[batch]`: the sum over all other classes of
/// `max(0, margin - score[label] + score[class])^p`, times the weight of the label, by the number of
/// classes, reduced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 0.5], &[1, 2])?;
/// let y = Var::of(&[0i64], &[1])?;
/// let loss = multi_margin_loss(&x, &y, None, MultiMarginLossOptions::default())?;
/// assert_eq!(loss.item::<f64>()?, 0.25);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn multi_margin_loss(
    input: &Var,
    target: &Var,
    weight: Option<&Var>,
    options: MultiMarginLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (input, target) = (&precision.of(input)?, &precision.of(target)?);
    let weight = precision.maybe(weight)?;
    let weight = weight.as_ref();
    let MultiMarginLossOptions { reduction, p, margin } = options;
    let inputs: Vec<&Var> = [input, target].into_iter().chain(weight).collect();
    let axis = judged("multi_margin_loss", &inputs, |types| {
        floats(&types[..1])?;
        types.get(2).map_or(Ok(()), |weight| weights_fit(&types[0], weight))?;
        match p {
            _ if types[0].rank() > 2 => Err(Error::shape("expected scores [batch, classes]")),
            1 | 2 => labels_fit(&types[0], &types[1]),
            _ => Err(Error::argument(format!("`p` is {p}, but must be 1 or 2"))),
        }
    })? as i64;
    let own = take_along_axis(input, &unsqueeze(target, axis)?, axis)?;
    let missing = positive(&(input - own + margin))?;
    let powers = if p == 2 { mul(&missing, &missing)? } else { missing };
    // The label itself is among them, with the margin.
    let others = sum(&powers, &[axis], false)? - margin.max(0.0).powi(p as i32);
    let losses = others / dim_size(input.ty().dim(axis as usize), input.dtype())?;
    let losses = match weight {
        Some(weight) => losses * gather(weight, target, 0)?,
        None => losses,
    };
    reduced(&losses, reduction)
}
