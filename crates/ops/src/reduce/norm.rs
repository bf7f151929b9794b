//! `norm`: the length of vectors, derived from `sum`, `max` and `pow`.

use super::family::{narrowed, number, sqrt_flat_at_zero, widened};
use super::{Reduction, max, min, sum};
use crate::binary::{eq, ne, pow, where_};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::unary::abs;

/// The `p`-norm over some axes; over all, if none are named: `sum(|x|^p)^(1/p)`. For `p` infinite it is
/// the greatest `|x|`, for -inf the least, for 0 the number of elements that are not zero. At zero the
/// gradient is zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0, -4.0], &[2])?;
/// assert_eq!(norm(&x, 2.0, &[], false)?.item::<f64>()?, 5.0);
/// assert_eq!(norm(&x, f64::INFINITY, &[], false)?.item::<f64>()?, 4.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn norm(x: &Var, p: f64, axes: &[i64], keepdims: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    judged("norm", &[x], |ty| {
        if p.is_nan() {
            return Err(Error::argument("there is no norm of order NaN"));
        }
        let reduction = Reduction::new(axes, keepdims, &ty[0])?;
        if p.is_infinite() { reduction.not_empty("extreme") } else { Ok(()) }
    })?;
    // Of complex numbers only the sizes count.
    let (x, dtype) = widened(&if x.dtype().is_complex() { abs(x)? } else { x.clone() })?;
    let found = if p == f64::INFINITY {
        max(&abs(&x)?, axes, keepdims)
    } else if p == f64::NEG_INFINITY {
        min(&abs(&x)?, axes, keepdims)
    } else if p == 0.0 {
        // Zeros that depend on `x` make its gradient zero, where there would be none.
        let counted = cast(&ne(&x, &number(0.0, x.dtype())?)?, x.dtype())?;
        sum(&(counted + zeros_like(&x)?), axes, keepdims)
    } else if p == 1.0 {
        sum(&abs(&x)?, axes, keepdims)
    } else if p == 2.0 {
        sqrt_flat_at_zero(&sum(&(&x * &x), axes, keepdims)?)
    } else {
        power_flat_at_zero(&sum(&power_flat_at_zero(&abs(&x)?, p)?, axes, keepdims)?, 1.0 / p)
    };
    narrowed(&found?, dtype)
}

/// `x^p` of what is not negative, whose gradient at zero is zero.
fn power_flat_at_zero(x: &Var, p: f64) -> Result<Var> {
    let number = |value| number(value, x.dtype());
    let at_zero = eq(x, &number(0.0)?)?;
    let power = pow(&where_(&at_zero, &number(1.0)?, x)?, &number(p)?)?;
    where_(&at_zero, &number(0f64.powf(p))?, &power)
}
