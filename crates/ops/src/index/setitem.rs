//! `setitem`: `x[…] = value` with all forms of numpy, derived from `getitem` and `index_put`.

use super::getitem::Selection;
use super::{element_numbers, index_put};
use crate::prelude::*;
use crate::shape::derived::{count, judged};
use crate::shape::{assume_dims, reshape};

/// `x` with `value`, broadcast and cast, in the place of `x[…]`: see [`getitem`](crate::getitem)
/// for the index. Nothing is changed in place; the result is the new value. Where an index names an
/// element several times, the last value counts.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = setitem(&x, &[(..).into(), 0.into()], &Var::scalar(9.0))?;
/// assert_eq!(y.to_vec::<f64>()?, [9.0, 2.0, 9.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn setitem(x: &Var, index: &[crate::Index], value: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let selection = Selection::new("setitem", x, index)?;
    let numbers = selection.of(&element_numbers(&x.dims())?)?;
    let fitted = judged("setitem", &[x, value], |types| fitted(&types[1], &numbers.dims()))?;
    let mut value = cast(value, x.dtype())?;
    if value.rank() > fitted.len() {
        // Axes of size one in front are not there in the place.
        value = reshape(&value, &value.dims()[value.rank() - fitted.len()..])?;
    }
    // A size that only the run knows is taken to be that of the place; the run checks it.
    value = if value.dims()[..] == fitted[..] { value } else { assume_dims(&value, &fitted)? };
    let value = expand(&value, &numbers.dims())?;
    let flat = |x: &Var| reshape(x, &[count(&x.dims())?]);
    let written = index_put(&flat(x)?, &flat(&numbers)?, &flat(&value)?, 0)?;
    reshape(&written, &x.dims())
}

/// The dims that a value must have to be broadcast to the place.
fn fitted(value: &Type, place: &[Dim]) -> Result<SmallVec<[Dim; 8]>> {
    let fault = || {
        Error::shape(format!("{value} does not broadcast to the sizes {place:?} of the place"))
            .remedy("its sizes, aligned from the right, must be those of the place or one")
    };
    let extra = value.rank().saturating_sub(place.len());
    let (front, own) = value.dims().split_at(extra);
    let one = Dim::size(1);
    if front.iter().any(|&dim| dim != one) {
        return Err(fault());
    }
    let missing = place.len() - own.len();
    own.iter()
        .zip(&place[missing..])
        .map(|(&dim, &wanted)| match dim == wanted || dim == one {
            true => Ok(dim),
            false if dim.is_symbolic() || wanted.is_symbolic() => Ok(wanted),
            false => Err(fault()),
        })
        .collect()
}
