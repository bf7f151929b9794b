//! `one_hot`: a one in the place of each class, derived from `iota` and `eq`.

use super::iota;
use crate::binary::eq;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::reshape;

/// For each number in `ids`, a row of `classes` elements (a new last axis) with a one at that place and
/// zeros elsewhere, `i64` as in PyTorch. A number that is not a class, as -1, gives zeros only.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let ids = Var::of(&[2i64, 0], &[2])?;
/// assert_eq!(one_hot(&ids, Dim::size(3))?.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn one_hot(ids: &Var, classes: Dim) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("one_hot", &[ids], |ty| match ty[0].dtype().is_int() {
        true => Ok(()),
        false => {
            Err(Error::dtype(format!("classes are integers, found {}", ty[0]))
                .remedy("cast to i64"))
        }
    })?;
    let mut dims = ids.dims();
    dims.push(Dim::size(1));
    cast(&eq(&reshape(ids, &dims)?, &iota(classes, DType::I64)?)?, DType::I64)
}
