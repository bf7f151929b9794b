//! `flip`: axes backwards, derived from `slice`.

use super::derived::{axes_or_all, judged};
use super::slice;
use crate::prelude::*;

/// Some axes backwards; all, if none are named. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(flip(&x, &[1])?.to_vec::<f64>()?, [2.0, 1.0, 4.0, 3.0]);
/// assert_eq!(flip(&x, &[])?.to_vec::<f64>()?, [4.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn flip(x: &Var, axes: &[i64]) -> Result<Var> {
    let _line = at(scope::user_line());
    let axes = judged("flip", &[x], |types| axes_or_all(axes, types[0].rank()))?;
    axes.iter().try_fold(x.clone(), |x, &axis| slice(&x, axis as i64, None, None, -1))
}
