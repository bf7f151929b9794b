//! `matrix_norm`: the size of matrices.

use super::matrices::{float_matrices, refuse};
use super::svd;
use crate::prelude::*;
use crate::{abs, max, min, norm, sum, unsqueeze};

choices! {
    /// A norm of matrices.
    pub enum MatrixNorm {
        /// The root of the sum of squares.
        Frobenius = "fro",
        /// The sum of the singular values.
        Nuclear = "nuc",
        /// The greatest sum of absolute values of a row.
        Infinity = "inf",
        /// The least sum of absolute values of a row.
        MinusInfinity = "-inf",
        /// The greatest sum of absolute values of a column.
        One = "1",
        /// The least sum of absolute values of a column.
        MinusOne = "-1",
        /// The greatest singular value.
        Two = "2",
        /// The least singular value.
        MinusTwo = "-2",
    }
}

/// A norm of the matrices in the last two axes, which stay with size one if `keepdims`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0, 0.0, 0.0, -4.0], &[2, 2])?;
/// assert_eq!(matrix_norm(&x, MatrixNorm::Frobenius, false)?.item::<f64>()?, 5.0);
/// assert_eq!(matrix_norm(&x, MatrixNorm::Two, false)?.item::<f64>()?, 4.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn matrix_norm(x: &Var, order: MatrixNorm, keepdims: bool) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let x = x.clone().check()?;
    float_matrices(&x.ty()).map_err(|error| refuse(error, "matrix_norm", &[&x], loc))?;
    let values = || svd(&x).map(|(_, s, _)| s);
    let sums = |axis: i64| sum(&abs(&x)?, &[axis], false);
    let found = match order {
        MatrixNorm::Frobenius => norm(&x, 2.0, &[-2, -1], false)?,
        MatrixNorm::Nuclear => sum(&values()?, &[-1], false)?,
        MatrixNorm::Infinity => max(&sums(-1)?, &[-1], false)?,
        MatrixNorm::MinusInfinity => min(&sums(-1)?, &[-1], false)?,
        MatrixNorm::One => max(&sums(-2)?, &[-1], false)?,
        MatrixNorm::MinusOne => min(&sums(-2)?, &[-1], false)?,
        MatrixNorm::Two => max(&values()?, &[-1], false)?,
        MatrixNorm::MinusTwo => min(&values()?, &[-1], false)?,
    };
    if keepdims { unsqueeze(&unsqueeze(&found, -1)?, -1) } else { Ok(found) }
}
