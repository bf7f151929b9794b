//! `put` and `index_select`: by number of elements, and by position on one axis.

use super::gather::is_index;
use super::{gather, index_put};
use crate::prelude::*;
use crate::shape::derived::{count, judged};
use crate::shape::{flatten, narrow, reshape, tile};

/// `x` with `values` written at the elements of these numbers, in row-major order, as in numpy:
/// too few values are repeated, too many are left. Of several writes to one element the last one
/// counts.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = put(&x, &Var::of(&[3i64, 0], &[2])?, &Var::of(&[8.0, 9.0], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [9.0, 2.0, 3.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn put(x: &Var, index: &Var, values: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let (size, wanted, repeats) = judged("put", &[x, index, values], |types| {
        is_index(&types[1])?;
        let (wanted, given) = (count(types[1].dims())?, count(types[2].dims())?);
        let repeats = match (wanted.value(), given.value()) {
            _ if wanted == given => 1,
            (Some(0), _) => 1,
            (Some(_), Some(0)) => return Err(Error::shape("there are no values to put")),
            (Some(wanted), Some(given)) => wanted.div_ceil(given),
            _ => {
                return Err(Error::shape(format!(
                    "whether {given} values are enough for {wanted} positions is not known"
                ))
                .remedy("give as many values as positions"));
            }
        };
        Ok((count(types[0].dims())?, wanted, repeats))
    })?;
    let values = cast(&tile(&flatten(values, 0, -1)?, &[Dim::size(repeats)])?, x.dtype())?;
    let values = narrow(&values, 0, Dim::size(0), wanted)?;
    let flat = index_put(&reshape(x, &[size])?, &flatten(index, 0, -1)?, &values, 0)?;
    reshape(&flat, &x.dims())
}

/// The slices of an axis at the positions in a vector, in their order; PyTorch's name for a
/// [`gather`] with one axis of positions.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = index_select(&x, 1, &Var::of(&[1i64], &[1])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn index_select(x: &Var, axis: i64, index: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("index_select", &[x, index], |types| match types[1].rank() {
        1 => Ok(()),
        _ => Err(Error::shape(format!("positions have one axis here, found {}", types[1]))
            .remedy("use `gather` for positions of any shape")),
    })?;
    gather(x, index, axis)
}
