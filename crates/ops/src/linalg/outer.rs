//! `outer`: all products of the elements of two vectors.

use crate::prelude::*;
use crate::reshape;

/// The products of each element of `a` with each of `b`: `[.., n]` and `[.., m]` give
/// `[.., n, m]`; the axes before the last are broadcast.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = outer(&Var::of(&[1.0, 2.0], &[2])?, &Var::of(&[3.0, 4.0], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn outer(a: &Var, b: &Var) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let (left, right) = (a.ty(), b.ty());
    if left.rank() == 0 || right.rank() == 0 || left.is_list() || right.is_list() {
        return Err(Error::shape("expected vectors")
            .remedy("use `mul` to multiply by a number")
            .in_op("outer", &[&left, &right])
            .at(loc));
    }
    let mut row = b.dims();
    row.insert(row.len() - 1, Dim::size(1));
    let mut column = a.dims();
    column.push(Dim::size(1));
    mul(&reshape(&a, &column)?, &reshape(&b, &row)?)
}
