//! `rot90`: quarter turns, derived from `flip` and `transpose`.

use super::derived::{distinct_axes, judged};
use super::{flip, transpose};
use crate::prelude::*;

/// `turns` quarter turns in the plane of two axes, from the first towards the second. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(rot90(&x, 1, &[0, 1])?.to_vec::<f64>()?, [2.0, 4.0, 1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rot90(x: &Var, turns: i64, axes: &[i64]) -> Result<Var> {
    let _line = at(scope::user_line());
    let (a, b) = judged("rot90", &[x], |types| match distinct_axes(axes, types[0].rank())?[..] {
        [a, b] => Ok((a as i64, b as i64)),
        _ => Err(Error::argument(format!("a turn has two axes, not {}", axes.len()))),
    })?;
    match turns.rem_euclid(4) {
        0 => Ok(x.clone()),
        1 => flip(&transpose(x, a, b)?, &[a]),
        2 => flip(x, &[a, b]),
        _ => flip(&transpose(x, a, b)?, &[b]),
    }
}
