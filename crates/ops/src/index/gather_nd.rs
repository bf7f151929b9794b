//! `gather_nd` and `scatter_nd`: slices by positions on several axes, derived from `gather`,
//! `index_add` and `index_put`.

use super::gather::is_index;
use super::{gather, index_add, index_put, ravel_multi_index};
use crate::prelude::*;
use crate::shape::derived::{count, judged};
use crate::shape::{reshape, unbind};

/// The slices of `x` at positions on its first axes: the last axis of `index` holds one position
/// for each of them, its other axes come first in the result.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = gather_nd(&x, &Var::of(&[0i64, 1, 1, 0], &[2, 2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gather_nd(x: &Var, index: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let place = judged("gather_nd", &[x, index], |types| Places::of(types[0].dims(), &types[1]))?;
    gather(&reshape(x, &place.flat)?, &place.numbers(index)?, 0)
}

/// Zeros of these dims, with the slices `updates` added at positions on the first axes: the last
/// axis of `index` holds one position for each of them.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (index, updates) = (Var::of(&[2i64, 0, 2], &[3, 1])?, Var::of(&[1.0, 2.0, 3.0], &[3])?);
/// let y = scatter_nd(&index, &updates, &[Dim::size(4)])?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 0.0, 4.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter_nd(index: &Var, updates: &Var, dims: &[Dim]) -> Result<Var> {
    let _line = at(scope::user_line());
    let place = judged("scatter_nd", &[index, updates], |types| {
        Places::of(dims, &types[0])?.check(&types[1])
    })?;
    let sums = index_add(updates, &place.numbers(index)?, 0, place.flat[0])?;
    reshape(&sums, dims)
}

/// `x` with the slices `updates` added at positions on its first axes, which the last axis of
/// `index` holds.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// let (index, updates) = (Var::of(&[1i64, 1], &[2, 1])?, Var::of(&[1.0, 2.0], &[2])?);
/// assert_eq!(scatter_nd_add(&x, &index, &updates)?.to_vec::<f64>()?, [1.0, 5.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter_nd_add(x: &Var, index: &Var, updates: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("scatter_nd_add", &[x, index, updates], |types| {
        Places::of(types[0].dims(), &types[1])?.check(&types[2])
    })?;
    add(x, &scatter_nd(index, updates, &x.dims())?)
}

/// `x` with the slices `updates` written at positions on its first axes, which the last axis of
/// `index` holds. Of several writes to one position the last one counts.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// let (index, updates) = (Var::of(&[1i64, 1], &[2, 1])?, Var::of(&[8.0, 9.0], &[2])?);
/// assert_eq!(scatter_nd_update(&x, &index, &updates)?.to_vec::<f64>()?, [1.0, 9.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter_nd_update(x: &Var, index: &Var, updates: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let place = judged("scatter_nd_update", &[x, index, updates], |types| {
        Places::of(types[0].dims(), &types[1])?.check(&types[2])
    })?;
    let flat = reshape(x, &place.flat)?;
    reshape(&index_put(&flat, &place.numbers(index)?, updates, 0)?, &x.dims())
}

/// Positions on the first axes of a tensor, seen as positions on one.
struct Places {
    /// The sizes of the first axes.
    named: SmallVec<[Dim; 8]>,
    /// The dims of the tensor with the first axes made one.
    flat: SmallVec<[Dim; 8]>,
    /// The dims of the slices.
    slices: SmallVec<[Dim; 8]>,
    /// The dims of the index but for its last axis.
    outer: SmallVec<[Dim; 8]>,
}

impl Places {
    fn of(dims: &[Dim], index: &Type) -> Result<Places> {
        is_index(index)?;
        let Some((&depth, outer)) = index.dims().split_last() else {
            return Err(Error::shape("an index without axes holds no positions"));
        };
        let named = depth.value().filter(|&depth| depth <= dims.len()).ok_or_else(|| {
            Error::shape(format!(
                "the last axis of {index} would name {depth} axes of {}",
                dims.len()
            ))
            .remedy("its size is known, and at most the number of axes")
        })?;
        let mut flat = SmallVec::from_elem(count(&dims[..named])?, 1);
        flat.extend_from_slice(&dims[named..]);
        let mut slices = SmallVec::from_slice(outer);
        slices.extend_from_slice(&dims[named..]);
        let named = SmallVec::from_slice(&dims[..named]);
        Ok(Places { named, flat, slices, outer: SmallVec::from_slice(outer) })
    }

    fn check(self, updates: &Type) -> Result<Places> {
        match updates.dims() == &self.slices[..] {
            true => Ok(self),
            false => Err(Error::shape(format!(
                "{updates} does not have the sizes {:?} of the slices named",
                self.slices
            ))),
        }
    }

    fn numbers(&self, index: &Var) -> Result<Var> {
        if self.named.is_empty() {
            return fill(0.0, &Type::new(DType::I64, &self.outer)?);
        }
        let columns = unbind(index, -1)?;
        ravel_multi_index(&columns.iter().collect::<Vec<_>>(), &self.named)
    }
}
