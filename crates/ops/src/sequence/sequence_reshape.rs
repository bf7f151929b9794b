//! `sequence_reshape`: rows of another width.

use super::rows::is_lengths;
use crate::host::assert_;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{assume_dims, eq, floor_div, of_size, remainder, reshape, sum};

/// The elements of each sequence in rows of `width` elements: rows and lengths. `x` is `[rows, old width]`; the
/// elements of each sequence must divide by `width`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, lengths) = (Var::of(&[1.0, 2.0, 3.0, 4.0], &[4, 1])?, Var::of(&[4i64, 0], &[2])?);
/// let (rows, lengths) = sequence_reshape(&x, &lengths, 2)?;
/// assert_eq!(rows.ty().to_string(), "f64[2, 2]");
/// assert_eq!(lengths.to_vec::<i64>()?, [2, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sequence_reshape(x: &Var, lengths: &Var, width: usize) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let (rows, old) = judged("sequence_reshape", &[x, lengths], |types| {
        is_lengths(&types[1])?;
        let &[rows, old] = types[0].dims() else {
            return Err(Error::shape(format!("expected rows [rows, width], found {}", types[0])));
        };
        match width {
            0 => Err(Error::argument("a row has at least one element")),
            _ => Ok((rows, known_size(old)?)),
        }
    })?;
    if old.is_multiple_of(width) {
        let times = old / width;
        let found = reshape(x, &[rows.mul(Dim::size(times))?, Dim::size(width)])?;
        return Ok((found, mul(lengths, &Var::scalar(times as i64))?));
    }
    let new = Var::scalar(width as i64);
    let elements = mul(lengths, &Var::scalar(old as i64))?;
    let divides = eq(&remainder(&elements, &new)?, &Var::scalar(0i64))?;
    assert_(&divides, &format!("the elements of a sequence divide by {width}"), &[&elements])?;
    let lengths = floor_div(&elements, &new)?;
    let count = of_size(&sum(&lengths, &[0], false)?)?.ty().dim(0);
    let flat = reshape(x, &[rows.mul(Dim::size(old))?])?;
    let flat = assume_dims(&flat, &[count.mul(Dim::size(width))?])?;
    Ok((reshape(&flat, &[count, Dim::size(width)])?, lengths))
}
