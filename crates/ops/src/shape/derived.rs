//! What derived functions share: arguments judged at the top, with errors like those of ops.

use crate::prelude::*;

/// Judges the types of a derived function's inputs, all of them tensors. `judge` states the fault;
/// the function's name, the types and the user's line are added.
#[track_caller]
pub(crate) fn judged<T>(
    name: &str,
    inputs: &[&Var],
    judge: impl FnOnce(&[Type]) -> Result<T>,
) -> Result<T> {
    let loc = scope::user_line();
    let checked = inputs.iter().map(|var| Ok((*var).clone().check()?.ty()));
    let types = checked.collect::<Result<Vec<Type>>>()?;
    let verdict = match types.iter().any(Type::is_list) {
        true => Err(Error::dtype("a list has no axes")),
        false => judge(&types),
    };
    verdict.map_err(|error| error.in_op(name, &types.iter().collect::<Vec<_>>()).at(loc))
}

/// The axes counted from the front, each named once.
pub(crate) fn distinct_axes(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(axes.len());
    for &named in axes {
        let axis = axis(named, rank)?;
        if found.contains(&axis) {
            return Err(Error::argument(format!("axis {named} is named twice")));
        }
        found.push(axis);
    }
    Ok(found)
}

/// The same axes; all of them, if none are named.
pub(crate) fn axes_or_all(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    match axes.is_empty() {
        true => Ok((0..rank).collect()),
        false => distinct_axes(axes, rank),
    }
}

/// The number of elements of these dims.
pub(crate) fn count(dims: &[Dim]) -> Result<Dim> {
    dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))
}

/// The dims with another one on an axis.
pub(crate) fn with_dim(dims: &[Dim], axis: usize, dim: Dim) -> SmallVec<[Dim; 8]> {
    let mut dims = SmallVec::from_slice(dims);
    dims[axis] = dim;
    dims
}
