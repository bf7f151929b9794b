//! Sine and cosine for `f32`.

use super::{horner32, pick};

/// (sin(x) / x - 1) / x^2 in x^2, for x up to pi/4; the error of the sine is 4e-9.
const SINE: [f32; 3] = [-0.16666655, 0.008332191, -0.00019518606];

/// (cos(x) - 1 + x^2 / 2) / x^4 in x^2, for x up to pi/4; the error of the cosine is 2e-10.
const COSINE: [f32; 3] = [0.041666646, -0.0013887301, 0.000024430663];

/// pi / 2 in three parts.
const QUARTER: [f32; 3] = [1.5707964, -4.371139e-8, -1.7151245e-15];

/// 1.5 * 2^23: a number that is added to it loses its digits after the point.
const ROUND: f32 = 12582912.0;

/// Whether `x` can be reduced to a quarter turn with the digits of pi that are here.
#[inline(always)]
pub(crate) fn is_moderate_angle(x: f32) -> bool {
    x.abs() <= 100_000.0
}

/// The sine of `x` and `quarters` quarter turns.
#[inline(always)]
fn turned_sine(x: f32, quarters: u32) -> f32 {
    let shifted = x.mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let whole = shifted - ROUND;
    let r = whole.mul_add(-QUARTER[0], x);
    let r = whole.mul_add(-QUARTER[1], r);
    let r = whole.mul_add(-QUARTER[2], r);
    let square = r * r;
    let sine = (r * square).mul_add(horner32(&SINE, square), r);
    let cosine = square.mul_add(square.mul_add(horner32(&COSINE, square), -0.5), 1.0);
    let turn = shifted.to_bits().wrapping_add(quarters);
    let result = pick((turn & 1).wrapping_neg(), cosine, sine);
    f32::from_bits(result.to_bits() ^ ((turn & 2) << 30))
}

/// The sine of a moderate angle.
#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    let result = turned_sine(x, 0);
    if x == 0.0 { x } else { result }
}

/// The cosine of a moderate angle.
#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    turned_sine(x, 1)
}

/// Sine and cosine of the part `word / 2^32` of a full turn.
#[inline(always)]
pub(crate) fn sin_cos_of_turn(word: u32) -> (f32, f32) {
    let turn = word.wrapping_add(1 << 29) >> 30;
    let rest = word.wrapping_sub(turn << 30) as i32 as f32;
    let r = rest * (std::f32::consts::FRAC_PI_2 / (1u32 << 30) as f32);
    let square = r * r;
    let sine = (r * square).mul_add(horner32(&SINE, square), r);
    let cosine = square.mul_add(square.mul_add(horner32(&COSINE, square), -0.5), 1.0);
    let swap = (turn & 1).wrapping_neg();
    let signed = |x: f32, turn: u32| f32::from_bits(x.to_bits() ^ ((turn & 2) << 30));
    (signed(pick(swap, cosine, sine), turn), signed(pick(swap, sine, cosine), turn.wrapping_add(1)))
}
