//! `stack`: tensors along a new axis, derived from `unsqueeze` and `concat`.

use super::derived::judged;
use super::{concat, unsqueeze};
use crate::prelude::*;

/// Tensors of one shape along a new axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[1.0, 2.0], &[2])?, Var::of(&[3.0, 4.0], &[2])?);
/// assert_eq!(stack(&[&a, &b], 0)?.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(stack(&[&a, &b], -1)?.to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn stack(parts: &[&Var], axis: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("stack", parts, |types| {
        let Some(first) = types.first() else {
            return Err(Error::argument("there is nothing to stack"));
        };
        crate::prelude::axis(axis, first.rank() + 1)?;
        match types.iter().find(|ty| ty.dims() != first.dims()) {
            Some(other) => Err(Error::shape(format!("{first} and {other} have different sizes"))
                .remedy("use `concat` to join along an axis that is there")),
            None => Ok(()),
        }
    })?;
    let parts = parts.iter().map(|part| unsqueeze(part, axis)).collect::<Result<Vec<_>>>()?;
    concat(&parts.iter().collect::<Vec<_>>(), axis)
}
