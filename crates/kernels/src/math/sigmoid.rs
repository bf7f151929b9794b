//! The logistic function and its relatives, for `f32`.
//!
//! They are quotients of sums with one exponential function. Each sum is kept as two numbers, so that
//! only the last operations round.

/// (e^x - 1 - x) / x^2 for x between -ln(2)/2 and ln(2)/2; the error is 1e-9.
const TERMS: [f32; 6] = [
    0.5,
    0.1666666716337204,
    0.041666463017463684,
    0.00833331048488617,
    0.001393367419950664,
    0.00019891017291229218,
];

/// ln(2) in two parts; the first has few enough bits that its product with a small whole number is exact.
const LN_2_HEAD: f32 = 0.693359375;
const LN_2_REST: f32 = -2.121_944_4e-4;

/// 1.5 * 2^23: a number that is added to it loses its digits after the point.
const ROUND: f32 = 12582912.0;

/// e^(x + rest) as a sum of two numbers, for x between -85 and 0.
#[inline(always)]
fn decay(x: f32, rest: f32) -> (f32, f32) {
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = whole.mul_add(-LN_2_HEAD, x);
    let r = whole.mul_add(-LN_2_REST, r) + rest;
    let series = super::horner32(&TERMS, r);
    let part = (r * r).mul_add(series, r);
    let head = 1.0 + part;
    let tail = part - (head - 1.0);
    let scale = f32::from_bits((whole + (ROUND + 127.0)).to_bits() << 23);
    (head * scale, tail * scale)
}

/// `factor` times the logistic function of `x + rest`.
#[inline(always)]
fn times_logistic(factor: f32, x: f32, rest: f32) -> f32 {
    let negative = x < 0.0;
    let (head, tail) = decay(-x.abs(), if negative { rest } else { -rest });
    let below = 1.0 + head;
    let below_rest = (head - (below - 1.0)) + tail;
    let above = if negative { head } else { 1.0 };
    let above_rest = if negative { tail } else { 0.0 };
    let inverse = 1.0 / below;
    let quotient = above * inverse;
    let missing = quotient.mul_add(-below, above) + quotient.mul_add(-below_rest, above_rest);
    let product = factor * quotient;
    let rest = factor.mul_add(missing * inverse, factor.mul_add(quotient, -product));
    // The sum of -0 and 0 has lost its sign.
    (product + rest).copysign(factor)
}

/// Whether `x` is so small that nothing here comes near the ends of the numbers.
#[inline(always)]
pub(crate) fn is_moderate(x: f32) -> bool {
    x.abs() <= 80.0
}

/// 1 / (1 + exp(-x)) for a moderate x.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    times_logistic(1.0, x, 0.0)
}

/// x sigmoid(x) for a moderate x.
#[inline(always)]
pub(crate) fn silu(x: f32) -> f32 {
    times_logistic(x, x, 0.0)
}

/// Whether [`gelu_tanh`] is for this number.
#[inline(always)]
pub(crate) fn is_small(x: f32) -> bool {
    x.abs() <= 8.0
}

/// 2 sqrt(2 / pi) and 2 sqrt(2 / pi) 0.044715.
const GELU_LINEAR: f64 = 1.5957691216057308;
const GELU_CUBIC: f64 = 0.07135481627260025;

/// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) for a small x.
#[inline(always)]
pub(crate) fn gelu_tanh(x: f32) -> f32 {
    let wide = x as f64;
    let argument = wide * (wide * wide).mul_add(GELU_CUBIC, GELU_LINEAR);
    let head = argument as f32;
    times_logistic(x, head, (argument - head as f64) as f32)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let size = if size > 12.0 { 12.0 } else { size };
    let (head, tail) = decay(-2.0 * size, 0.0);
    let below = 1.0 + head;
    let below_rest = (head - (below - 1.0)) + tail;
    let complement = 1.0 - head;
    let above = complement - tail;
    let above_rest = (complement - above) - tail;
    let inverse = 1.0 / below;
    let quotient = above * inverse;
    let missing = quotient.mul_add(-below, above) + quotient.mul_add(-below_rest, above_rest);
    missing.mul_add(inverse, quotient).copysign(x)
}
