//! Logarithms for `f32`, and the power function.

use super::exp::{wide_natural, wide_power_of_two};
use super::{horner, horner32};

/// (ln(1 + x) - x + x^2 / 2) / x^3 for 1 + x between sqrt(1/2) and sqrt(2); the error is 3e-8.
const TERMS_32: [f32; 9] = [
    0.3333333,
    -0.24999997,
    0.20000716,
    -0.16667803,
    0.14249057,
    -0.12425686,
    0.116854236,
    -0.11479749,
    0.06971621,
];

/// The same; the error is 1e-10.
const TERMS: [f64; 12] = [
    0.333333333374912,
    -0.2500000026716445,
    0.19999997848666723,
    -0.16666611731954667,
    0.14285860678502885,
    -0.12503219826419867,
    0.11109481934294643,
    -0.09922837010255327,
    0.09031005007965444,
    -0.09109982945851015,
    0.0903693420896106,
    -0.05005748841457289,
];

/// ln(2) in two parts; the first has few enough bits that its product with a small whole number is exact.
const LN_2_HEAD: f32 = 355.0 / 512.0;
const LN_2_REST: f32 = -0.00021219444;

/// Whether `x` is positive, normal and finite.
#[inline(always)]
pub(crate) fn is_usual(x: f32) -> bool {
    (f32::MIN_POSITIVE..=f32::MAX).contains(&x)
}

/// Whether `x` is positive and finite.
#[inline(always)]
pub(crate) fn is_positive(x: f32) -> bool {
    x > 0.0 && x <= f32::MAX
}

/// ln(x) for a usual x.
#[inline(always)]
pub(crate) fn log(x: f32) -> f32 {
    // The bits of sqrt(1/2): what is above them counts in the exponent.
    let above = x.to_bits().wrapping_sub(0x3f35_04f3);
    let exponent = ((above as i32) >> 23) as f32;
    let mantissa = f32::from_bits((above & 0x007f_ffff) + 0x3f35_04f3);
    let f = mantissa - 1.0;
    let square = f * f;
    let series = (f * square) * horner32(&TERMS_32, f);
    let low = exponent.mul_add(LN_2_REST, series);
    let low = square.mul_add(-0.5, low);
    exponent.mul_add(LN_2_HEAD, f + low)
}

/// `(exponent, ln(mantissa))` of a positive, normal, finite number.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let above = x.to_bits().wrapping_sub(ROOT);
    let exponent = ((above as i64) >> 52) as f64;
    let mantissa = f64::from_bits((above & 0x000f_ffff_ffff_ffff) + ROOT);
    let f = mantissa - 1.0;
    let square = f * f;
    (exponent, square.mul_add(f.mul_add(horner(&TERMS, f), -0.5), f))
}

/// ln(x) for a positive, normal, finite x.
#[inline(always)]
fn natural_log(x: f64) -> f64 {
    let (exponent, rest) = parts(x);
    exponent.mul_add(std::f64::consts::LN_2, rest)
}

/// log2(x) for a positive, normal, finite x.
#[inline(always)]
fn binary_log(x: f64) -> f64 {
    let (exponent, rest) = parts(x);
    rest.mul_add(std::f64::consts::LOG2_E, exponent)
}

/// log2(x) for a positive x.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    binary_log(x as f64) as f32
}

/// log10(x) for a positive x.
#[inline(always)]
pub(crate) fn log10(x: f32) -> f32 {
    (natural_log(x as f64) * std::f64::consts::LOG10_E) as f32
}

/// ln(1 + x) for x between -1 and the largest `f32`.
#[inline(always)]
fn wide_log1p(x: f64) -> f64 {
    let series = x * x.mul_add(x.mul_add(1.0 / 3.0, -0.5), 1.0);
    let large = natural_log(1.0 + x);
    if x.abs() < 1e-4 { series } else { large }
}

/// Whether [`log1p`] is for this number.
#[inline(always)]
pub(crate) fn is_above_minus_one(x: f32) -> bool {
    x > -1.0 && x <= f32::MAX
}

/// ln(1 + x) for x above -1 and finite.
#[inline(always)]
pub(crate) fn log1p(x: f32) -> f32 {
    (wide_log1p(x as f64) as f32).copysign(x)
}

/// Whether [`softplus`] is for these numbers.
#[inline(always)]
pub(crate) fn is_moderate_product(x: f32, beta: f32) -> bool {
    (x * beta).abs() <= 600.0 && beta > 1e-6 && beta < 1e6
}

/// log(1 + exp(x beta)) / beta, if the product is moderate.
#[inline(always)]
pub(crate) fn softplus(x: f32, beta: f32) -> f32 {
    let product = x as f64 * beta as f64;
    let positive = if product > 0.0 { product } else { 0.0 };
    ((positive + wide_log1p(wide_natural(-product.abs()))) / beta as f64) as f32
}

/// Whether [`pow`] is for these numbers: a usual base, and a power that a result can have.
#[inline(always)]
pub(crate) fn is_usual_power(x: f32, power: f32) -> bool {
    is_positive(x) && power.abs() <= 1e6
}

/// x to the power, for a positive x.
#[inline(always)]
pub(crate) fn pow(x: f32, power: f32) -> f32 {
    let exponent = binary_log(x as f64) * power as f64;
    let exponent = if exponent < -160.0 { -160.0 } else { exponent };
    wide_power_of_two(if exponent > 130.0 { 130.0 } else { exponent }) as f32
}
