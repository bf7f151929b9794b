//! `tril` and `triu`: one side of a diagonal, derived from `iota` and `where_`.

use super::iota;
use crate::binary::{ge, le, where_};
use crate::prelude::*;
use crate::reduce::family::number;
use crate::shape::derived::judged;
use crate::shape::reshape;

/// The elements of matrices (on the last two axes) up to the `k`-th diagonal, and zeros above it. Zero
/// is the main diagonal, greater ones lie above it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(tril(&x, 0)?.to_vec::<f64>()?, [1.0, 0.0, 3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn tril(x: &Var, k: i64) -> Result<Var> {
    side("tril", x, k, le)
}

/// The elements of matrices (on the last two axes) from the `k`-th diagonal on, and zeros below it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(triu(&x, 0)?.to_vec::<f64>()?, [1.0, 2.0, 0.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn triu(x: &Var, k: i64) -> Result<Var> {
    side("triu", x, k, ge)
}

/// Diagonals farther away are outside of every matrix.
const FARTHEST: i64 = 1 << 62;

#[track_caller]
fn side(name: &str, x: &Var, k: i64, keeps: fn(&Var, &Var) -> Result<Var>) -> Result<Var> {
    let _line = at(scope::user_line());
    let (rows, columns) = judged(name, &[x], |ty| match ty[0].dims() {
        [.., rows, columns] => Ok((*rows, *columns)),
        _ => Err(Error::shape(format!("{} is not a matrix", ty[0]))),
    })?;
    // No matrix has so many rows, and their numbers can be added.
    let k = k.clamp(-FARTHEST, FARTHEST);
    let diagonal = reshape(&iota(rows, DType::I64)?, &[rows, Dim::size(1)])? + Var::scalar(k);
    let kept = keeps(&iota(columns, DType::I64)?, &diagonal)?;
    where_(&kept, x, &number(0.0, x.dtype())?)
}
