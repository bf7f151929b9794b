//! `broadcast_to`: repeated to given sizes, derived from `expand`.

use super::derived::judged;
use crate::prelude::*;

/// The value repeated along new axes in front and along axes of size one, without a copy. An axis
/// given as [`Dim::REST`] keeps its size.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// let y = broadcast_to(&x, &[Dim::size(2), Dim::size(2)])?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn broadcast_to(x: &Var, dims: &[Dim]) -> Result<Var> {
    let _line = at(scope::user_line());
    let dims = judged("broadcast_to", &[x], |types| {
        let own = types[0].dims();
        let kept = |(i, &dim): (usize, &Dim)| match (i + own.len()).checked_sub(dims.len()) {
            _ if dim != Dim::REST => Ok(dim),
            Some(axis) => Ok(own[axis]),
            None => Err(Error::shape("a new axis has no size to keep")
                .remedy("give its size: only axes that are there can be `Dim::REST`")),
        };
        dims.iter().enumerate().map(kept).collect::<Result<Vec<Dim>>>()
    })?;
    expand(x, &dims)
}

/// The tensors, each repeated to the shape in which all of them meet.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let both = broadcast_tensors(&[&Var::of(&[1.0, 2.0], &[2])?, &Var::of(&[3.0], &[1])?])?;
/// assert_eq!(both[1].to_vec::<f64>()?, [3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn broadcast_tensors(tensors: &[&Var]) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let dims = judged("broadcast_tensors", tensors, |types| {
        let mut all = SmallVec::<[Dim; 8]>::new();
        for ty in types {
            all = broadcast(&all, ty.dims())?;
        }
        Ok(all)
    })?;
    tensors.iter().map(|x| expand(x, &dims)).collect()
}
