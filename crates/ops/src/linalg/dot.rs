//! `dot`: the inner product of two vectors.

use super::matmul::product;
use crate::prelude::*;

/// The inner product of two vectors.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = dot(&Var::of(&[1.0, 2.0], &[2])?, &Var::of(&[3.0, 4.0], &[2])?)?;
/// assert_eq!(y.item::<f64>()?, 11.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dot(a: &Var, b: &Var) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let (left, right) = (a.ty(), b.ty());
    if left.rank() != 1 || right.rank() != 1 || left.is_list() || right.is_list() {
        return Err(Error::shape("expected two vectors")
            .remedy("use `matmul` for matrices and `vecdot` for vectors along an axis")
            .in_op("dot", &[&left, &right])
            .at(loc));
    }
    // As in PyTorch, mixed precision leaves it as it is.
    product(&a, &b, false, false)
}
