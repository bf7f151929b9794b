//! The logistic function and its relatives, for `f32`.
//!
//! They are quotients of sums with one exponential function. What the sum and the division lose is
//! computed too and added at the end, so that only the last operations round.

use super::exp::{decay_minus_one, natural_power, natural_power_with_rest, wide_natural};
use super::{at_least, at_most, pick, sign_mask};

/// 1 / (1 + exp(-x))
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    let negative = sign_mask(x);
    let (value, scale) = natural_power(at_least(-x.abs(), -104.0)).scaled();
    let (below, below_rest) = one_plus(value * scale);
    let quotient = pick(negative, value, 1.0) / below;
    let inverse = pick(negative, quotient.mul_add(-scale, 1.0), quotient);
    (quotient * below_rest).mul_add(-inverse, quotient) * pick(negative, scale, 1.0)
}

/// 1 + x, for x between 0 and 1, and what it lost.
#[inline(always)]
fn one_plus(x: f32) -> (f32, f32) {
    let sum = 1.0 + x;
    (sum, x - (sum - 1.0))
}

/// `factor` times the logistic function of x; `(value, scale)` is e^-|x|, and all bits of `negative` tell
/// the sign of x.
#[inline(always)]
fn times_logistic(factor: f32, (value, scale): (f32, f32), negative: u32) -> f32 {
    let (below, below_rest) = one_plus(value * scale);
    let above = pick(negative, value, 1.0);
    let quotient = above / below;
    let inverse = pick(negative, quotient.mul_add(-scale, 1.0), quotient);
    let missing = quotient.mul_add(-below_rest, quotient.mul_add(-below, above)) * inverse;
    let product = factor * quotient;
    let rest = factor.mul_add(missing, factor.mul_add(quotient, -product));
    (product + rest) * pick(negative, scale, 1.0)
}

/// What becomes of `x * f(x)` where f is 1 from `end` on: infinities, and the sign of 0.
#[inline(always)]
fn with_ends(x: f32, end: f32, result: f32) -> f32 {
    if x > end { x } else { x.mul_add(0.0, result).copysign(x) }
}

/// x sigmoid(x)
#[inline(always)]
pub(crate) fn silu(x: f32) -> f32 {
    let inside = at_least(x, -115.0);
    let power = natural_power(-at_most(inside.abs(), 115.0)).scaled();
    with_ends(x, 20.0, times_logistic(inside, power, sign_mask(x)))
}

/// 2 sqrt(2 / pi) and 2 sqrt(2 / pi) 0.044715.
const GELU_LINEAR: f64 = 1.5957691216057308;
const GELU_CUBIC: f64 = 0.07135481627260025;

/// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
#[inline(always)]
pub(crate) fn gelu_tanh(x: f32) -> f32 {
    let inside = at_most(at_least(x, -11.5), 11.5);
    let wide = inside.abs() as f64;
    let argument = -wide * (wide * wide).mul_add(GELU_CUBIC, GELU_LINEAR);
    let head = argument as f32;
    let power = natural_power_with_rest(head, (argument - head as f64) as f32).scaled();
    with_ends(x, 11.0, times_logistic(inside, power, sign_mask(x)))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    // With e = exp(-2|x|) - 1 it is e / (2 + e), and 1 from 9.1 on.
    let above = decay_minus_one(at_least(-2.0 * x.abs(), -20.0));
    let below = 2.0 + above;
    let below_rest = above - (below - 2.0);
    let quotient = above / below;
    let missing = quotient.mul_add(-below_rest, quotient.mul_add(-below, above));
    let inverse = quotient.mul_add(-0.5, 0.5);
    missing.mul_add(inverse, quotient).copysign(x)
}

/// Whether [`mish`] is for this number.
#[inline(always)]
pub(crate) fn is_above_minus_80(x: f32) -> bool {
    x >= -80.0
}

/// x tanh(log(1 + exp(x))) for x above -80.
#[inline(always)]
pub(crate) fn mish(x: f32) -> f32 {
    let small = wide_natural(-at_most(x.abs(), 80.0) as f64);
    let square = small * small;
    // Both parts of the quotient, over e^2x if x is positive.
    let above = if x < 0.0 { small.mul_add(2.0, square) } else { small.mul_add(2.0, 1.0) };
    let below = if x < 0.0 { above + 2.0 } else { square.mul_add(2.0, above) };
    (x as f64 * (above / below)) as f32
}
