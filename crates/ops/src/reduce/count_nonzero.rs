//! `count_nonzero`: how many elements are not zero, derived from `sum`.

use super::family::number;
use super::{Reduction, sum};
use crate::binary::ne;
use crate::prelude::*;
use crate::shape::derived::judged;

/// How many elements over some axes are not zero, an `i64`; over all axes, if none are named.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 0.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(count_nonzero(&x, &[1], false)?.to_vec::<i64>()?, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn count_nonzero(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("count_nonzero", &[x], |ty| Reduction::new(axes, keepdims, &ty[0]).map(drop))?;
    match x.dtype().is_bool() {
        true => sum(x, axes, keepdims),
        false => sum(&ne(x, &number(0.0, x.dtype())?)?, axes, keepdims),
    }
}
