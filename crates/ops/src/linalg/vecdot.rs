//! `vecdot`: inner products of vectors along an axis.

use crate::prelude::*;
use crate::sum;

/// The sum of the products of `a` and `b` along an axis, counted from the back if negative; the
/// other axes are broadcast. Of complex numbers those of `a` are conjugated.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = Var::of(&[1.0, 10.0], &[2])?;
/// assert_eq!(vecdot(&a, &b, -1)?.to_vec::<f64>()?, [21.0, 43.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn vecdot(a: &Var, b: &Var, axis: i64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::low();
    let (a, b) = (&precision.of(a)?, &precision.of(b)?);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let (left, right) = (a.ty(), b.ty());
    let fault = |error: Error| error.in_op("vecdot", &[&left, &right]).at(loc);
    let along = |ty: &Type| -> Result<Dim> {
        let axis = crate::prelude::axis(axis, ty.rank()).map_err(fault)?;
        Ok(ty.dim(axis))
    };
    let (n, m) = (along(&left)?, along(&right)?);
    if n != m {
        return Err(fault(Error::shape(format!("the vectors have {n} and {m} elements"))));
    }
    sum(&mul(&conj(&a)?, &b)?, &[axis], false)
}
