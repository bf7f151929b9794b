//! Powers of e and 2 for `f32`.
//!
//! A power is `(1 + part) * 2^whole`, and the power of two is a product of two numbers, because it alone
//! may be too large or too small for a number where the power itself is not. `1 + part` is rounded once,
//! so subnormal results are rounded as all others.

#[cfg(target_arch = "x86_64")]
mod wide;

use super::{at_least, at_most, horner, horner32};
use crate::lanes::{Ahead, STEP};

/// (e^x - 1 - x) / x^2 for x between -ln(2)/2 and ln(2)/2; the error of e^x is 3e-9.
const TERMS: [f32; 5] = [0.5, 0.16666518, 0.041666403, 0.008369002, 0.0013940542];

/// (2^x - 1) / x for x between -1/2 and 1/2; the error of 2^x is 3e-9.
const BINARY_TERMS: [f32; 6] =
    [std::f32::consts::LN_2, 0.2402265, 0.055503618, 0.0096180625, 0.001339043, 0.00015462896];

/// ln(2) in two parts; the first has few enough bits that its product with a small whole number is exact.
const LN_2_HEAD: f32 = 355.0 / 512.0;
const LN_2_REST: f32 = -0.00021219444;

/// 1.5 * 2^23: a number that is added to it loses its digits after the point.
const ROUND: f32 = 12582912.0;

/// `(1 + part) * first * second`
#[derive(Clone, Copy)]
pub(super) struct Power {
    part: f32,
    first: f32,
    second: f32,
}

impl Power {
    /// 2^(`shifted` - ROUND - 254) with a part.
    #[inline(always)]
    fn new(part: f32, shifted: f32) -> Power {
        // The last bits hold twice the exponents of the factors, with the bias of exponents.
        let half = shifted.to_bits() >> 1;
        let first = f32::from_bits(half << 23);
        let second = f32::from_bits(shifted.to_bits().wrapping_sub(half) << 23);
        Power { part, first, second }
    }

    /// `(value, scale)` of which the product is the power. The value is far from the ends of the numbers.
    #[inline(always)]
    pub(super) fn scaled(self) -> (f32, f32) {
        (self.part.mul_add(self.first, self.first), self.second)
    }

    /// `(value, scale)` of which the product is the power times `head + rest`.
    #[inline(always)]
    pub(super) fn times(self, head: f32, rest: f32) -> (f32, f32) {
        let rest = rest.mul_add(self.part, rest);
        ((head + head.mul_add(self.part, rest)) * self.first, self.second)
    }
}

/// e^r - 1 where r is x without its powers of two, with one more digit of x in `rest`.
#[inline(always)]
fn part_with_rest(x: f32, rest: f32, whole: f32) -> f32 {
    let r = whole.mul_add(-LN_2_HEAD, x) + whole.mul_add(-LN_2_REST, rest);
    (r * r).mul_add(horner32(&TERMS, r), r)
}

/// e^r - 1 where r is x without its powers of two.
#[inline(always)]
fn part(x: f32, whole: f32) -> f32 {
    let r = whole.mul_add(-LN_2_HEAD, x);
    let r = whole.mul_add(-LN_2_REST, r);
    (r * r).mul_add(horner32(&TERMS, r), r)
}

/// e^x for x between -170 and 89.
#[inline(always)]
pub(super) fn natural_power(x: f32) -> Power {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND + 254.0);
    Power::new(part(x, shifted - (ROUND + 254.0)), shifted)
}

/// e^(x + rest) for x between -170 and 89, where `rest` is less than the last digit of `x`.
#[inline(always)]
pub(super) fn natural_power_with_rest(x: f32, rest: f32) -> Power {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND + 254.0);
    Power::new(part_with_rest(x, rest, shifted - (ROUND + 254.0)), shifted)
}

/// e^x - 1 for x between -80 and 0, with all digits near 0.
#[inline(always)]
pub(super) fn decay_minus_one(x: f32) -> f32 {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND + 127.0);
    let scale = f32::from_bits(shifted.to_bits() << 23);
    part(x, shifted - (ROUND + 127.0)).mul_add(scale, scale - 1.0)
}

/// e^x
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (value, scale) = natural_power(at_most(at_least(x, -104.0), 89.0)).scaled();
    // Numbers that vanish on the way cost a hundred times as much as zero, and masks are full of them.
    let scale = if x <= -104.0 { 0.0 } else { scale };
    value * scale
}

/// [`exp`] of many numbers.
#[inline(always)]
pub(crate) fn exp_of_many(x: &[f32], y: &mut [f32], ahead: Ahead<f32>) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::level() == crate::simd::Level::Avx512 {
        // SAFETY: the machine has the instructions of the level.
        return unsafe { wide::exp_512(x, y, ahead) };
    }
    for (step, (x, y)) in x.chunks(STEP).zip(y.chunks_mut(STEP)).enumerate() {
        ahead.ask(step);
        for (y, &x) in y.iter_mut().zip(x) {
            *y = exp(x);
        }
    }
}

/// 2^x
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let inside = at_most(at_least(x, -151.0), 128.0);
    let shifted = inside + (ROUND + 254.0);
    let r = inside - (shifted - (ROUND + 254.0));
    let (value, scale) = Power::new(r * horner32(&BINARY_TERMS, r), shifted).scaled();
    let scale = if x <= -151.0 { 0.0 } else { scale };
    value * scale
}

/// e^x - 1
#[inline(always)]
pub(crate) fn expm1(x: f32) -> f32 {
    let inside = at_most(at_least(x, -18.0), 89.0);
    // Half of the power, which is a number even where the power is not.
    let shifted = inside.mul_add(std::f32::consts::LOG2_E, ROUND + 126.0);
    let scale = f32::from_bits(shifted.to_bits() << 23);
    let result = 2.0 * part(inside, shifted - (ROUND + 126.0)).mul_add(scale, scale - 0.5);
    if x.abs() < 1e-9 { x } else { result }
}

/// (2^x - 1) / x between -1/2 and 1/2; the error is 8e-9.
const WIDE: [f64; 6] = [
    0.6931471880352003,
    0.24022650760645808,
    0.05550357071152507,
    0.009618082519990467,
    0.0013390886332106697,
    0.0001545318282995974,
];

/// The same; the error is 3e-12.
const WIDE_EXACT: [f64; 8] = [
    0.6931471805568274,
    0.24022650695888467,
    0.05550410906373737,
    0.009618129135269306,
    0.0013333478409865399,
    0.00015403475142315847,
    1.5303721130801367e-05,
    1.3250819664096275e-06,
];

/// 1.5 * 2^52, as [`ROUND`].
const WIDE_ROUND: f64 = 6755399441055744.0;

/// 2^(whole + rest) for a whole number between -1000 and 1000.
#[inline(always)]
fn wide_power<const N: usize>(whole: f64, rest: f64, terms: &[f64; N]) -> f64 {
    let scale = f64::from_bits((whole + (WIDE_ROUND + 1023.0)).to_bits() << 52);
    (rest * horner(terms, rest)).mul_add(scale, scale)
}

/// e^x for x between -700 and 700, with the digits of an `f32`.
#[inline(always)]
pub(super) fn wide_natural(x: f64) -> f64 {
    let whole = (x * std::f64::consts::LOG2_E + WIDE_ROUND) - WIDE_ROUND;
    wide_power(whole, x.mul_add(std::f64::consts::LOG2_E, -whole), &WIDE)
}

/// 2^x for x between -1000 and 1000, with more digits.
#[inline(always)]
pub(super) fn wide_power_of_two(x: f64) -> f64 {
    let whole = (x + WIDE_ROUND) - WIDE_ROUND;
    wide_power(whole, x - whole, &WIDE_EXACT)
}
