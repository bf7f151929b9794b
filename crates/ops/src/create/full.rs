//! `full`, `zeros`, `ones` and their like: one number everywhere, derived from `fill`.

use crate::prelude::*;

/// A tensor of these sizes, which may be symbols, with one number everywhere. Integers have to hold
/// the number; a fraction is cut off.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = full(&[Dim::size(2)], 1.5, DType::F64)?;
/// assert_eq!(x.to_vec::<f64>()?, [1.5, 1.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn full(dims: &[Dim], value: impl Into<Number>, dtype: DType) -> Result<Var> {
    let _line = at(scope::user_line());
    fill(value, &Type::new(dtype, dims)?)
}

/// Zeros of these sizes, which may be symbols.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(zeros(&[Dim::size(2)], DType::I64)?.to_vec::<i64>()?, [0, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn zeros(dims: &[Dim], dtype: DType) -> Result<Var> {
    full(dims, 0.0, dtype)
}

/// Ones of these sizes, which may be symbols.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// assert_eq!(ones(&[Dim::size(2)], DType::I64)?.to_vec::<i64>()?, [1, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ones(dims: &[Dim], dtype: DType) -> Result<Var> {
    full(dims, 1.0, dtype)
}

/// A tensor of the type of `x` with one number everywhere. Integers have to hold the number; a
/// fraction is cut off.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// assert_eq!(full_like(&x, 7.0)?.to_vec::<f64>()?, [7.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn full_like(x: &Var, value: impl Into<Number>) -> Result<Var> {
    let _line = at(scope::user_line());
    fill(value, &x.clone().check()?.ty())
}

/// Ones of the type of `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0, 2.0], &[2])?;
/// assert_eq!(ones_like(&x)?.to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ones_like(x: &Var) -> Result<Var> {
    full_like(x, 1.0)
}
