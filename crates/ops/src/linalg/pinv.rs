//! `pinv`: the pseudoinverse.

use super::matrices::{adjoint, as_rows, float_matrices, refuse};
use super::{matmul, solve, svd};
use crate::prelude::*;
use crate::{diag_embed, gt, max, where_};

/// The Moore-Penrose inverses of the matrices in the last two axes. Singular values up to `rcond`
/// times the greatest count as zero; `1e-15` is usual in `f64`, `1e-6` in `f32`. The gradient is that of
/// matrices whose rank does not change.
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
    let (u, s, vh) = svd(&stop_gradient(&x)?)?;
    let least = max(&s, &[-1], true)? * rcond;
    let counts = gt(&s, &least)?;
    let one = fill(1.0, &s.ty())?;
    let reciprocal = where_(&counts, &div(&one, &where_(&counts, &s, &one)?)?, &zeros_like(&s)?)?;
    let value = matmul(&mul(&adjoint(&vh)?, &as_rows(&reciprocal)?)?, &adjoint(&u)?)?;
    let followed = of_rank(&x, &u, &adjoint(&vh)?, &reciprocal, &counts)?;
    add(&value, &sub(&followed, &stop_gradient(&followed)?)?)
}

/// The pseudoinverse as a function of matrices of the same rank near `x`. With bases `u` and `v` of its columns and
/// rows, such a matrix is `c b^-1 r`, where `c = x v`, `r = u' x` and `b = u' x v`; so its pseudoinverse is
/// `r' (r r')^-1 b (c' c)^-1 c'`. Scaled by the reciprocals of the singular values, what is inverted is the unit matrix at `x` itself.
fn of_rank(x: &Var, u: &Var, v: &Var, reciprocal: &Var, counts: &Var) -> Result<Var> {
    let scale = as_rows(reciprocal)?;
    let c = matmul(x, &mul(v, &scale)?)?;
    let left = adjoint(&mul(u, &scale)?)?;
    let r = matmul(&left, x)?;
    let b = matmul(&left, &c)?;
    let one = fill(1.0, &reciprocal.ty())?;
    let dropped = diag_embed(&where_(counts, &zeros_like(&one)?, &one)?, 0, -2, -1)?;
    let columns = solve(&add(&matmul(&adjoint(&c)?, &c)?, &dropped)?, &adjoint(&c)?)?;
    let rows = solve(&add(&matmul(&r, &adjoint(&r)?)?, &dropped)?, &matmul(&b, &columns)?)?;
    matmul(&adjoint(&r)?, &rows)
}
