//! The functions beside those of the standard library in `f64`, at numbers of all sizes.

use super::{exp, log, normal, pieces, sigmoid, trig};
use crate::lanes::Ahead;
use crate::scalar::{activation, special};
use crate::simd::{Level, force};

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
        ("gelu in pieces", |_| true, pieces::gelu, activation::gelu),
        ("erfc", |x| x.abs() >= 3.93, normal::far_erfc, special::erfc),
        ("erfc in pieces", |_| true, pieces::erfc, special::erfc),
        ("silu in pieces", |_| true, pieces::silu, activation::silu),
    ];
    for &(name, is_usual, f, exact) in rows {
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -1.0];
        // The ends of the pieces of tables, and their neighbours.
        let ends =
            (0..33).flat_map(|k| [0.1875, 0.5, 0.125].map(|length| (k as f32 + 0.5) * length));
        let ends = ends.flat_map(|x: f32| [x, x.next_up(), x.next_down(), -x, -x.next_up()]);
        for x in numbers().chain(special).chain(ends).filter(|&x| is_usual(x)) {
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

#[test]
fn many_have_the_bits_of_one() {
    let mut x: Vec<f32> = (0..=u32::MAX).step_by(300_007).map(f32::from_bits).collect();
    x.extend((0..4000).map(|i| (i as f32 - 2000.0) * 0.0043));
    x.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 5.90625, -5.90625, 15.75, -15.75]);
    x.extend([3.9375, -3.9375, f32::NAN]);
    type Row = (fn(f32) -> f32, fn(&[f32], &mut [f32], Ahead<f32>));
    let functions: [Row; 4] = [
        (pieces::gelu, pieces::gelu_of_many),
        (pieces::silu, pieces::silu_of_many),
        (pieces::erfc, pieces::erfc_of_many),
        (exp::exp, exp::exp_of_many),
    ];
    for level in Level::ALL {
        let _forced = force(level);
        for (one, many) in functions {
            for len in [0, 1, 7, 8, 15, 16, 17, 33, 127, 128, 129, 1000, x.len()] {
                for start in [0, 3, x.len() - len] {
                    let x = &x[start..x.len().min(start + len)];
                    let mut y = vec![f32::NAN; x.len()];
                    many(x, &mut y, Ahead::default());
                    for (&x, &y) in x.iter().zip(&y) {
                        let want = one(x);
                        let same = y.to_bits() == want.to_bits() || y.is_nan() && x.is_nan();
                        assert!(same, "{level:?}: {y:e} for {want:e} of {x:e}");
                    }
                }
            }
        }
    }
}
