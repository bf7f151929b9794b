//! `lstsq`: equations solved as well as possible.

use super::matrices::{adjoint, float_matrices, lesser, refuse};
use super::{matmul, qr, triangular_solve};
use crate::prelude::*;
use crate::reshape;

/// The `x` that makes `a x - b` smallest, for matrices `a` of full rank, of shape `[.., m, n]`, and
/// a `b` of shape `[.., m, k]`, or a vector `[m]`. If `a` has more columns than rows, the smallest
/// of the exact solutions.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[1.0, 1.0, 1.0], &[3, 1])?;
/// let x = lstsq(&a, &Var::of(&[1.0, 2.0, 6.0], &[3])?)?;
/// assert!((x.to_vec::<f64>()?[0] - 3.0).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lstsq(a: &Var, b: &Var) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::full();
    let (a, b) = (&precision.of(a)?, &precision.of(b)?);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let fault = |error: Error| refuse(error, "lstsq", &[&a, &b], loc);
    let (m, n) = float_matrices(&a.ty()).map_err(fault)?;
    let is_vector = b.rank() == 1 && !b.ty().is_list();
    let right = if is_vector { reshape(&b, &[b.dims()[0], Dim::size(1)])? } else { b.clone() };
    let (rows, _) = float_matrices(&right.ty()).map_err(fault)?;
    if rows != m {
        return Err(fault(Error::shape(format!("{m} equations for a right-hand side of {rows}"))));
    }
    let x = match lesser(m, n).map_err(fault)? == n {
        true => {
            let (q, r) = qr(&a)?;
            triangular_solve(&r, &matmul(&adjoint(&q)?, &right)?, true, false, false)?
        }
        false => {
            let (q, r) = qr(&adjoint(&a)?)?;
            matmul(&q, &triangular_solve(&conj(&r)?, &right, true, true, false)?)?
        }
    };
    if is_vector { reshape(&x, &x.dims()[..x.rank() - 1]) } else { Ok(x) }
}
