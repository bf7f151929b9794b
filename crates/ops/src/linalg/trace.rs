//! `trace`: the sum of the diagonal of matrices.

use super::matrices::{matrix_sizes, refuse};
use crate::prelude::*;
use crate::sum;

/// The sum over the diagonal of the last two axes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(trace(&x)?.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn trace(x: &Var) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let x = x.clone().check()?;
    matrix_sizes(&x.ty()).map_err(|error| refuse(error, "trace", &[&x], loc))?;
    let rank = x.rank() as i64;
    sum(&crate::diagonal(&x, 0, rank - 2, rank - 1)?, &[-1], false)
}
