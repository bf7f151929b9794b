//! `scatter` and `scatter_add`: elements placed along an axis, derived from `index_put` and
//! `index_add`.

use super::along::{FlatAlong, flat_along};
use super::{ScatterReduction, index_add, index_put, index_reduce};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::reshape;

/// `x` with `updates` written along an axis: each position in `index` says where on the axis the
/// update there goes. The other axes of `index` are broadcast to those of `x`, and `updates` to
/// `index`. Of several writes to one position the last one counts.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = scatter(&x, 1, &Var::of(&[1i64, 0], &[2, 1])?, &Var::of(&[8.0, 9.0], &[2, 1])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 8.0, 9.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter(x: &Var, axis: i64, index: &Var, updates: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let (flat, updates) = flat_updates("scatter", x, axis, index, updates)?;
    reshape(&index_put(&flat.x, &flat.index, &updates, 0)?, &flat.x_dims)
}

/// `x` with `updates` added along an axis, at the positions in `index`; see [`scatter`].
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = scatter_add(&x, 0, &Var::of(&[1i64, 1], &[2])?, &Var::of(&[8.0, 9.0], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 19.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter_add(x: &Var, axis: i64, index: &Var, updates: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let (flat, updates) = flat_updates("scatter_add", x, axis, index, updates)?;
    let sums = index_add(&updates, &flat.index, 0, flat.x.dims()[0])?;
    reshape(&add(&flat.x, &sums)?, &flat.x_dims)
}

/// `x` with `updates` combined with its elements along an axis, at the positions in `index`:
/// multiplied, or the greater or the smaller one stays; see [`scatter`].
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let (index, updates) = (Var::of(&[1i64, 1], &[2])?, Var::of(&[8.0, 9.0], &[2])?);
/// let y = scatter_reduce(&x, 0, &index, &updates, ScatterReduction::Max)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 9.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn scatter_reduce(
    x: &Var,
    axis: i64,
    index: &Var,
    updates: &Var,
    reduction: ScatterReduction,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let (flat, updates) = flat_updates("scatter_reduce", x, axis, index, updates)?;
    reshape(&index_reduce(&flat.x, &flat.index, &updates, 0, reduction)?, &flat.x_dims)
}

fn flat_updates(
    name: &str,
    x: &Var,
    axis: i64,
    index: &Var,
    updates: &Var,
) -> Result<(FlatAlong, Var)> {
    let flat = flat_along(name, x, axis, index)?;
    judged(name, &[x, index, updates], |types| {
        if types[0].dims() != &flat.x_dims[..] {
            return Err(Error::shape(format!(
                "the positions {} reach beyond {}",
                types[1], types[0]
            )));
        }
        let fits = broadcast(&flat.dims, types[2].dims()).is_ok_and(|dims| dims == flat.dims);
        match fits {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "the updates {} do not broadcast to the sizes {:?} of the positions",
                types[2], flat.dims
            ))),
        }
    })?;
    let wide =
        if updates.dims() == flat.dims { updates.clone() } else { expand(updates, &flat.dims)? };
    let updates = reshape(&wide, &flat.index.dims())?;
    Ok((flat, updates))
}
