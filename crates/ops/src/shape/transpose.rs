//! `transpose`: two axes exchanged, derived from `permute`.

use super::derived::judged;
use super::permute;
use crate::prelude::*;

/// Two axes exchanged, without a copy: `transpose(x, -2, -1)` transposes matrices.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(transpose(&x, 0, 1)?.to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn transpose(x: &Var, axis_a: i64, axis_b: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let order = judged("transpose", &[x], |types| {
        let rank = types[0].rank();
        let mut order: Vec<i64> = (0..rank as i64).collect();
        order.swap(axis(axis_a, rank)?, axis(axis_b, rank)?);
        Ok(order)
    })?;
    permute(x, &order)
}
