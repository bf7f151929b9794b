//! The error function and the distribution function of the normal distribution, for `f32`.

use super::exp::{clamp, natural_minus_one, power_of_two};
use super::horner;

/// -ln(1 - erf(x)) / x for x between 0 and 3.95; the error is 1e-8.
const ERF_LOG: [f64; 12] = [
    1.1283791562888201,
    0.6366205656060632,
    0.10276261051021782,
    -0.019077342440233257,
    -0.00034934635703809326,
    0.0019321720409436278,
    -0.0008528056593867947,
    0.00022646121354843535,
    -4.03932074059278e-05,
    4.749985754776531e-06,
    -3.339034697317982e-07,
    1.0639048026466296e-08,
];

/// log2 of the chance that a normal number is above x, for x between 0 and 5.65; the error is 4e-9.
const TAIL_LOG: [f64; 13] = [
    -1.0000000043796764,
    -1.1511038322667708,
    -0.45922697946600716,
    -0.05240816457119993,
    0.006866888490153352,
    0.00010313500397372248,
    -0.000357434979390527,
    0.0001125249801459819,
    -2.1475481528800585e-05,
    2.7700422720635433e-06,
    -2.368784790827456e-07,
    1.2168632741370145e-08,
    -2.8452014466084787e-10,
];

/// The error function.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    // Past the end the result is 1.
    let size = clamp((x as f64).abs(), 0.0, 3.95);
    (-natural_minus_one(-size * horner(&ERF_LOG, size)) as f32).copysign(x)
}

/// Whether [`gelu`] is for this number.
#[inline(always)]
pub(crate) fn is_above_tail(x: f32) -> bool {
    x >= -5.65
}

/// x Phi(x), with Phi the distribution function of the normal distribution, for x above its tail.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let wide = x as f64;
    let tail = power_of_two(horner(&TAIL_LOG, clamp(wide.abs(), 0.0, 5.65)));
    let chance = if x < 0.0 { tail } else { 1.0 - tail };
    (wide * chance) as f32
}
