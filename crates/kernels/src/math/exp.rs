//! Powers of e and 2, and what is made of them, for `f32`.

use super::horner;

/// (2^x - 1) / x between -1/2 and 1/2; the error is 8e-9.
const POWER: [f64; 6] = [
    0.6931471880352003,
    0.24022650760645808,
    0.05550357071152507,
    0.009618082519990467,
    0.0013390886332106697,
    0.0001545318282995974,
];

/// The same; the error is 3e-12.
const POWER_EXACT: [f64; 8] = [
    0.6931471805568274,
    0.24022650695888467,
    0.05550410906373737,
    0.009618129135269306,
    0.0013333478409865399,
    0.00015403475142315847,
    1.5303721130801367e-05,
    1.3250819664096275e-06,
];

/// 1.5 * 2^52: a number that is added to it loses its digits after the point.
const ROUND: f64 = 6755399441055744.0;

/// 2^x - 1 as `(part, scale)`: it is `part * scale + (scale - 1)`, and `part` keeps its digits where the
/// result is near 0. For x between -1000 and 1000.
#[inline(always)]
fn power_parts<const N: usize>(whole: f64, rest: f64, terms: &[f64; N]) -> (f64, f64) {
    let scale = f64::from_bits((whole + (ROUND + 1023.0)).to_bits() << 52);
    (rest * horner(terms, rest), scale)
}

/// 2^x for x between -1000 and 1000.
#[inline(always)]
pub(super) fn power_of_two(x: f64) -> f64 {
    let whole = (x + ROUND) - ROUND;
    let (part, scale) = power_parts(whole, x - whole, &POWER);
    part.mul_add(scale, scale)
}

/// e^x - 1 for x between -700 and 700, with all digits near 0.
#[inline(always)]
pub(super) fn natural_minus_one(x: f64) -> f64 {
    let whole = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let rest = x.mul_add(std::f64::consts::LOG2_E, -whole);
    let (part, scale) = power_parts(whole, rest, &POWER);
    part.mul_add(scale, scale - 1.0)
}

/// e^x for x between -700 and 700.
#[inline(always)]
pub(super) fn natural(x: f64) -> f64 {
    let whole = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    let rest = x.mul_add(std::f64::consts::LOG2_E, -whole);
    let (part, scale) = power_parts(whole, rest, &POWER);
    part.mul_add(scale, scale)
}

/// `x`, but not outside of `low` and `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// e^x
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    natural(clamp(x as f64, -110.0, 90.0)) as f32
}

/// 2^x
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    power_of_two(clamp(x as f64, -160.0, 130.0)) as f32
}

/// e^x - 1
#[inline(always)]
pub(crate) fn expm1(x: f32) -> f32 {
    (natural_minus_one(clamp(x as f64, -30.0, 90.0)) as f32).copysign(x)
}

/// 2^x for x between -1000 and 1000, with more digits.
#[inline(always)]
pub(super) fn power_of_two_exact(x: f64) -> f64 {
    let whole = (x + ROUND) - ROUND;
    let (part, scale) = power_parts(whole, x - whole, &POWER_EXACT);
    part.mul_add(scale, scale)
}
