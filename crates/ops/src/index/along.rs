//! What functions with an index along an axis share: everything on one axis.

use super::along_index;
use super::gather::is_index;
use crate::prelude::*;
use crate::shape::derived::{count, judged, with_dim};
use crate::shape::reshape;

/// A tensor and an index along one of its axes, broadcast together and laid out on one axis.
pub(super) struct FlatAlong {
    /// The elements of the tensor.
    pub x: Var,
    /// The numbers of the chosen ones.
    pub index: Var,
    /// The dims of the tensor.
    pub x_dims: SmallVec<[Dim; 8]>,
    /// The dims of the index.
    pub dims: SmallVec<[Dim; 8]>,
}

/// Broadcasts `x` and `index` together but for the axis, and lays them out on one axis.
#[track_caller]
pub(super) fn flat_along(name: &str, x: &Var, axis: i64, index: &Var) -> Result<FlatAlong> {
    let (along, x_dims, dims) = judged(name, &[x, index], |types| {
        let (x, index) = (&types[0], &types[1]);
        is_index(index)?;
        let along = crate::prelude::axis(axis, x.rank())?;
        if index.rank() != x.rank() {
            return Err(Error::shape(format!(
                "the index {index} and the input {x} must have the same number of axes"
            ))
            .remedy("give the positions as many axes as the tensor: reshape them"));
        }
        let one = Dim::size(1);
        let (ours, theirs) = (with_dim(x.dims(), along, one), with_dim(index.dims(), along, one));
        let others = broadcast(&ours, &theirs)?;
        let size = |ty: &Type| with_dim(&others, along, ty.dim(along));
        Ok((along, size(x), size(index)))
    })?;
    let flat = |x: &Var, dims: &[Dim]| -> Result<Var> {
        let x = if x.dims()[..] == *dims { x.clone() } else { expand(x, dims)? };
        reshape(&x, &[count(dims)?])
    };
    let wide = if index.dims() == dims { index.clone() } else { expand(index, &dims)? };
    let numbers = along_index(&wide, along as i64, x_dims[along])?;
    Ok(FlatAlong { x: flat(x, &x_dims)?, index: flat(&numbers, &dims)?, x_dims, dims })
}
