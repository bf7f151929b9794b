//! `pinv`: the pseudoinverse.

use super::matrices::{as_rows, float_matrices, refuse, transposed};
use super::{matmul, svd};
use crate::prelude::*;
use crate::{gt, max, where_};

/// The Moore-Penrose inverses of the matrices in the last two axes. Singular values up to `rcond`
/// times the greatest count as zero; `1e-15` is usual in `f64`, `1e-6` in `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[2.0, 0.0, 0.0, 0.0, 4.0, 0.0], &[2, 3])?;
/// let y = pinv(&x, 1e-15)?;
/// assert_eq!(y.to_vec::<f64>()?, [0.5, 0.0, 0.0, 0.25, 0.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pinv(x: &Var, rcond: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let x = x.clone().check()?;
    float_matrices(&x.ty()).map_err(|error| refuse(error, "pinv", &[&x], loc))?;
    let (u, s, vh) = svd(&x)?;
    let least = max(&s, &[-1], true)? * rcond;
    let counts = gt(&s, &least)?;
    let one = fill(1.0, &s.ty())?;
    let reciprocal = where_(&counts, &div(&one, &where_(&counts, &s, &one)?)?, &zeros_like(&s)?)?;
    matmul(&mul(&transposed(&vh)?, &as_rows(&reciprocal)?)?, &transposed(&u)?)
}
