//! `eye`: ones on a diagonal, derived from `iota` and `eq`.

use super::iota;
use crate::binary::eq;
use crate::prelude::*;
use crate::shape::reshape;

/// A matrix of `rows` and `columns`, which may be symbols, with ones on its `k`-th diagonal (zero is the
/// main one, greater ones lie above it) and zeros elsewhere.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = eye(Dim::size(2), Dim::size(3), 1, DType::F64)?;
/// assert_eq!(x.to_vec::<f64>()?, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eye(rows: Dim, columns: Dim, k: i64, dtype: DType) -> Result<Var> {
    let _line = at(scope::user_line());
    let diagonal = reshape(&iota(rows, DType::I64)?, &[rows, Dim::size(1)])? + Var::scalar(k);
    cast(&eq(&diagonal, &iota(columns, DType::I64)?)?, dtype)
}
