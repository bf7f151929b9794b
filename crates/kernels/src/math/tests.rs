//! The functions beside those of the standard library in `f64`, at numbers of all sizes.

use super::{exp, log, normal, sigmoid, trig};
use crate::scalar::{activation, special};

/// Numbers from all over the range, each some units in the last place after the one before.
fn numbers() -> impl Iterator<Item = f32> {
    (0..=u32::MAX).step_by(40_009).map(f32::from_bits)
}

/// Whether `got` is at most two units in the last place from `want`, or the same where there are none.
#[track_caller]
fn check(name: &str, x: f32, got: f32, want: f64) {
    let nearest = want as f32;
    if want.is_nan() || !nearest.is_finite() || !got.is_finite() {
        let same = got == nearest || got.is_nan() && want.is_nan();
        return assert!(same, "{name}({x:e}) = {got:e}, not {want:e}");
    }
    let unit = f64::from(nearest.abs().next_up() - nearest.abs());
    let off = (f64::from(got) - want).abs() / unit;
    assert!(off <= 2.0, "{name}({x:e}) = {got:e}, not {want:e}: {off:.1} units");
    let signed = got != 0.0 || want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
    assert!(signed, "{name}({x:e}) = {got:e}, not {want:e}");
}

#[test]
fn functions_of_one_number() {
    type Row = (&'static str, fn(f32) -> bool, fn(f32) -> f32, fn(f64) -> f64);
    let rows: &[Row] = &[
        ("exp", |_| true, exp::exp, f64::exp),
        ("exp2", |_| true, exp::exp2, f64::exp2),
        ("expm1", |_| true, exp::expm1, f64::exp_m1),
        ("tanh", |_| true, sigmoid::tanh, f64::tanh),
        ("log", log::is_usual, log::log, f64::ln),
        ("log2", log::is_positive, log::log2, f64::log2),
        ("log10", log::is_positive, log::log10, f64::log10),
        ("log1p", log::is_above_minus_one, log::log1p, f64::ln_1p),
        ("sin", trig::is_moderate_angle, trig::sin, f64::sin),
        ("cos", trig::is_moderate_angle, trig::cos, f64::cos),
        ("sigmoid", |_| true, sigmoid::sigmoid, activation::sigmoid),
        ("silu", |_| true, sigmoid::silu, activation::silu),
        ("gelu_tanh", |_| true, sigmoid::gelu_tanh, activation::gelu_tanh),
        ("mish", sigmoid::is_above_minus_80, sigmoid::mish, activation::mish),
        ("erf", |_| true, normal::erf, special::erf),
        ("gelu", |_| true, normal::gelu, activation::gelu),
    ];
    for &(name, is_usual, f, exact) in rows {
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -1.0];
        for x in numbers().chain(special).filter(|&x| is_usual(x)) {
            check(name, x, f(x), exact(f64::from(x)));
        }
    }
}

#[test]
fn functions_of_two_numbers() {
    for x in numbers().step_by(16) {
        for power in [0.0, 0.5, -1.7, 3.0, 20.3, -0.001, 1e6] {
            if log::is_usual_power(x, power) {
                let want = f64::from(x).powf(f64::from(power));
                check("pow", x, log::pow(x, power), want);
            }
        }
        for beta in [1.0, 0.3, 7.0] {
            if log::is_moderate_product(x, beta) {
                let product = f64::from(x) * f64::from(beta);
                let want = product.max(0.0) + (-product.abs()).exp().ln_1p();
                check("softplus", x, log::softplus(x, beta), want / f64::from(beta));
            }
        }
    }
}
