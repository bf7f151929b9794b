//! `movedim`: axes moved to other places, derived from `permute`.

use super::derived::{distinct_axes, judged};
use super::permute;
use crate::prelude::*;

/// The axes `source` moved to the places `destination`; the others keep their order. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0; 24], &[2, 3, 4])?;
/// assert_eq!(movedim(&x, &[0], &[-1])?.ty().to_string(), "f64[3, 4, 2]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn movedim(x: &Var, source: &[i64], destination: &[i64]) -> Result<Var> {
    let _line = at(scope::user_line());
    let order = judged("movedim", &[x], |types| order(source, destination, types[0].rank()))?;
    permute(x, &order)
}

fn order(from: &[i64], to: &[i64], rank: usize) -> Result<Vec<i64>> {
    if from.len() != to.len() {
        return Err(Error::argument(format!("{from:?} and {to:?} do not name as many axes")));
    }
    let (from, to) = (distinct_axes(from, rank)?, distinct_axes(to, rank)?);
    let mut others = (0..rank).filter(|axis| !from.contains(axis));
    let source = |place: usize| match to.iter().position(|&target| target == place) {
        Some(i) => Some(from[i]),
        None => others.next(),
    };
    Ok((0..rank).filter_map(source).map(|axis| axis as i64).collect())
}
