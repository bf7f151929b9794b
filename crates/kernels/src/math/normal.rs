//! The error function and the distribution function of the normal distribution, for `f32`.

use super::exp::{natural_power_with_rest, wide_natural};
use super::{at_most, horner, horner32, pick, sign_mask};

/// erf(x) / x - 1 in x^2, for x between 0 and 1; the error is 1e-9.
const ERF_SMALL: [f32; 7] =
    [0.12837917, -0.3761263, 0.11283618, -0.026855126, 0.005190734, -0.00080307614, 0.00007920368];

/// The eighth root of 1 - erf(x) for x between 1 and 3.93; the error of erf is 4e-9.
const ERF_LARGE: [f32; 8] = [
    1.0003729,
    -0.14293465,
    -0.06553902,
    -0.0070435214,
    0.010248554,
    -0.0014983166,
    -0.00004152961,
    0.000015784264,
];

/// The error function.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let small = x.mul_add(horner32(&ERF_SMALL, x * x), x);
    // Past the end the result is 1.
    let root = horner32(&ERF_LARGE, at_most(x.abs(), 3.93));
    let square = root * root;
    let fourth = square * square;
    let large = fourth.mul_add(-fourth, 1.0).copysign(x);
    if x.abs() < 1.0 { small } else { large }
}

/// (4 + x) exp(x^2 / 2) times the chance that a normal number is above x, for x between 0 and 14.6, in
/// (x - 4) / (x + 4), without its constant term; the error is 1e-8.
const TAIL: [f32; 9] = [
    -0.60789657,
    0.3871369,
    -0.18652397,
    0.060403444,
    -0.007522148,
    -0.0035088963,
    0.0015655092,
    0.00017111708,
    -0.00013511891,
];

/// The constant term in two parts. The first ends with a bit of 2^-22 at the latest, so that differences
/// to it are exact.
const TAIL_HEAD: f32 = 0.755285;
const TAIL_REST: f32 = 1.1071843e-7;

/// x Phi(x), with Phi the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    // Past the end the tail is 0.
    let size = at_most(x.abs(), 14.6);
    let below = size + 4.0;
    let below_rest = size - (below - 4.0);
    let inverse = 1.0 / below;
    // How much the inverse is off, and by which factor that is felt in all that is made of it.
    let off = inverse.mul_add(-below_rest, inverse.mul_add(-below, 1.0));
    let felt = (35.0 * inverse).mul_add(inverse, 1.0);

    let place = inverse.mul_add(-8.0, 1.0);
    let series = horner32(&TAIL, place);
    let tail = series.mul_add(place, TAIL_HEAD);
    let tail_rest = series.mul_add(place, TAIL_HEAD - tail) + TAIL_REST;

    let share = size * inverse;
    let share_rest = size.mul_add(inverse, -share);
    let product = share * tail;
    let rest = share_rest.mul_add(tail, share.mul_add(tail, -product));
    let rest = (product * off).mul_add(felt, share.mul_add(tail_rest, rest));

    let half = -0.5 * size;
    let square = size * half;
    let square_rest = size.mul_add(half, -square);
    let power = natural_power_with_rest(square, square_rest);
    let (value, scale) = power.times(product, rest);
    let lost = value * -scale;
    pick(sign_mask(x), x.mul_add(0.0, lost), x + lost)
}

/// x exp(x^2) erfc(x) in 1 / x^2, for x between 3.93 and 10.4; the error is 7e-10.
const FAR: [f64; 6] = [
    0.5641895593034293,
    -0.2820887127538131,
    0.42256305762058394,
    -1.03038791387373,
    2.989558736544577,
    -6.164015518495373,
];

/// 1 - erf(x) for |x| of 3.93 and more.
#[inline(always)]
pub(crate) fn far_erfc(x: f32) -> f32 {
    // Past the end nothing is left.
    let size = at_most(x.abs(), 10.4) as f64;
    let inverse = 1.0 / size;
    let tail = wide_natural(-size * size) * (inverse * horner(&FAR, inverse * inverse));
    pick(sign_mask(x), (2.0 - tail) as f32, tail as f32)
}
