//! `var` and `std`: how far elements lie from their mean, derived from `mean` and `sum`.

use super::family::{narrowed, number, sqrt_flat_at_zero, widened};
use super::{Reduction, mean, sum};
use crate::binary::maximum;
use crate::dim_size;
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::unary::abs;

/// The variance over some axes; over all, if none are named: the sum of squared distances from the
/// mean, divided by the number of elements less `correction` (zero for that of the elements themselves,
/// one to estimate that of a population). Integers become `f32`; of complex numbers it is real.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 6.0], &[4])?;
/// assert_eq!(var(&x, &[], false, 0.0)?.item::<f64>()?, 3.5);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn var(x: &Var, axes: &[i64], keepdims: bool, correction: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    let (found, dtype) = variance("var", x, axes, keepdims, correction)?;
    narrowed(&found, dtype)
}

/// The standard deviation over some axes; over all, if none are named: the square root of [`var`](super::var()).
/// Where it is zero, so is its gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 5.0], &[2])?;
/// assert_eq!(std(&x, &[], false, 0.0)?.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn std(x: &Var, axes: &[i64], keepdims: bool, correction: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    let (found, dtype) = variance("std", x, axes, keepdims, correction)?;
    narrowed(&sqrt_flat_at_zero(&found)?, dtype)
}

/// The variance in a wide type, and the type that the result is to have.
fn variance(
    name: &str,
    x: &Var,
    axes: &[i64],
    keepdims: bool,
    correction: f64,
) -> Result<(Var, DType)> {
    let reduction = judged(name, &[x], |ty| match correction.is_finite() {
        true => Reduction::new(axes, keepdims, &ty[0]),
        false => Err(Error::argument(format!("{correction} is not a correction"))),
    })?;
    let (x, dtype) = widened(x)?;
    let mut distance = (&x - mean(&x, axes, true)?).check()?;
    if dtype.is_complex() {
        distance = abs(&distance)?;
    }
    let total = sum(&(&distance * &distance), axes, keepdims)?;
    let count = dim_size(reduction.count()?, distance.dtype())?;
    let degrees = maximum(&(count - correction), &number(0.0, distance.dtype())?)?;
    Ok((div(&total, &degrees)?, dtype.real()))
}
