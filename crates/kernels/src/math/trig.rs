//! Sine and cosine for `f32`.

use super::horner;

/// (sin(x) / x - 1) / x^2 in x^2, for x up to pi/4; the error is 3e-11.
const SINE: [f64; 4] =
    [-0.1666666666385243, 0.008333331873598441, -0.000198400861348632, 2.724984794606924e-06];

/// (cos(x) - 1 + x^2 / 2) / x^4 in x^2, for x up to pi/4; the error is 2e-12.
const COSINE: [f64; 4] =
    [0.04166666666431882, -0.001388888767108894, 2.4800599875957372e-05, -2.730089422209794e-07];

/// pi / 2 in two parts.
const QUARTER_HEAD: f64 = std::f64::consts::FRAC_PI_2;
const QUARTER_REST: f64 = 6.123233995736766e-17;

/// 1.5 * 2^52: a number that is added to it loses its digits after the point.
const ROUND: f64 = 6755399441055744.0;

/// Whether `x` can be reduced to a quarter turn with the digits of pi that are here.
#[inline(always)]
pub(crate) fn is_moderate_angle(x: f32) -> bool {
    x.abs() <= 100_000.0
}

/// The sine of `x` and `quarters` quarter turns.
#[inline(always)]
fn turned_sine(x: f64, quarters: u64) -> f64 {
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let whole = shifted - ROUND;
    let r = whole.mul_add(-QUARTER_HEAD, x);
    let r = whole.mul_add(-QUARTER_REST, r);
    let square = r * r;
    let sine = (r * square).mul_add(horner(&SINE, square), r);
    let cosine = square.mul_add(square.mul_add(horner(&COSINE, square), -0.5), 1.0);
    let turn = shifted.to_bits().wrapping_add(quarters);
    let result = if turn & 1 == 0 { sine } else { cosine };
    f64::from_bits(result.to_bits() ^ ((turn & 2) << 62))
}

/// The sine of a moderate angle.
#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    let result = turned_sine(x as f64, 0) as f32;
    if x == 0.0 { x } else { result }
}

/// The cosine of a moderate angle.
#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    turned_sine(x as f64, 1) as f32
}
