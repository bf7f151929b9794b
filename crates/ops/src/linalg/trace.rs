//! `trace`: the sum of the diagonal of matrices.

use super::matrices::{matrix_sizes, refuse};
use crate::prelude::*;
use crate::{diagonal, sum};

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
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let x = x.clone().check()?;
    let sizes = matrix_sizes(&x.ty()).and_then(|(rows, columns)| match rows == columns {
        true => Ok(()),
        false => Err(Error::shape(format!("{rows} rows and {columns} columns: not square"))),
    });
    sizes.map_err(|error| refuse(error, "trace", &[&x], loc))?;
    sum(&diagonal(&x, 0, -2, -1)?, &[-1], false)
}
