//! Activation functions whose formulas would lose digits in `f32`, in `f64`.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

use super::special::{erfc, gauss_times_erfcx, polynomial};

/// 1 / (1 + exp(-x))
pub(crate) fn sigmoid(x: f64) -> f64 {
    times_sigmoid(1.0, x, 0.0)
}

/// x sigmoid(x)
pub(crate) fn silu(x: f64) -> f64 {
    times_sigmoid(x, x, 0.0)
}

/// `factor` times the sigmoid of `x + rest`, where `rest` is less than the last digit of `x`.
fn times_sigmoid(factor: f64, x: f64, rest: f64) -> f64 {
    if x >= 0.0 {
        return factor / (1.0 + (-x).exp() * (1.0 - rest));
    }
    if x < -700.0 {
        // Where exp(x) has no longer all digits, the product still may have them.
        let half = (0.5 * x).exp();
        return factor * half * half;
    }
    let small = x.exp() * (1.0 + rest);
    factor * (small / (1.0 + small))
}

/// x tanh(log(1 + exp(x)))
pub(crate) fn mish(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    if x < -40.0 {
        silu(x)
    } else if x < 0.0 {
        let part = small * (small + 2.0);
        x * (part / (part + 2.0))
    } else {
        let part = 1.0 + 2.0 * small;
        x * (part / (part + 2.0 * small * small))
    }
}

/// log(1 + exp(x beta)) / beta
pub(crate) fn softplus(x: f64, beta: f64) -> f64 {
    let product = x * beta;
    if product > 0.0 {
        return (product + (-product).exp().ln_1p()) / beta;
    }
    let rest = if product.is_finite() { x.mul_add(beta, -product) } else { 0.0 };
    (product.exp() * (1.0 + rest)).ln_1p() / beta
}

/// log(exp(a) + exp(b))
pub(crate) fn log_add_exp(a: f64, b: f64) -> f64 {
    if a == b {
        return a + LN_2;
    }
    let larger = if a > b { a } else { b };
    larger + (-(a - b).abs()).exp().ln_1p()
}

/// x Phi(x), with Phi the distribution function of the normal distribution.
pub(crate) fn gelu(x: f64) -> f64 {
    if x < -1.0 { 0.5 * x * gauss_times_erfcx(-x) } else { 0.5 * x * erfc(-x * FRAC_1_SQRT_2) }
}

/// 2 sqrt(2 / pi), in two parts.
const GELU_LINEAR: (f64, f64) = (1.5957691216057308, -9.96930880911092e-17);
/// 2 sqrt(2 / pi) 0.044715, in two parts.
const GELU_CUBIC: (f64, f64) = (0.07135481627260025, -6.175149918155315e-19);

/// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): the other form of [`gelu`].
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    if x.abs() > 40.0 {
        return if x > 0.0 { x } else { x * 0.0 };
    }
    // A large argument of exp needs more digits than one number has.
    let square = x * x;
    let square_rest = x.mul_add(x, -square);
    let cubic = GELU_CUBIC.0 * square;
    let cubic_rest =
        GELU_CUBIC.0.mul_add(square, -cubic) + (GELU_CUBIC.0 * square_rest + GELU_CUBIC.1 * square);
    let factor = GELU_LINEAR.0 + cubic;
    let carried = factor - GELU_LINEAR.0;
    let factor_rest =
        (GELU_LINEAR.0 - (factor - carried)) + (cubic - carried) + GELU_LINEAR.1 + cubic_rest;
    let argument = x * factor;
    let argument_rest = x.mul_add(factor, -argument) + x * factor_rest;
    times_sigmoid(x, argument, argument_rest)
}

/// x - tanh(x)
pub(crate) fn tanh_shrink(x: f64) -> f64 {
    if x == 0.0 || x.abs() > 2.0 {
        return x - x.tanh();
    }
    // x cosh(x) - sinh(x) has only positive terms.
    x * x * x * polynomial(&SHRINK, x * x) / x.cosh()
}

/// (x cosh(x) - sinh(x)) / x^3 as a polynomial in x^2: the terms are 2k / (2k + 1)!.
const SHRINK: [f64; 14] = {
    let mut terms = [0.0; 14];
    let (mut k, mut factorial) = (1, 1.0);
    while k <= 14 {
        let even = (2 * k) as f64;
        factorial *= even * (even + 1.0);
        terms[k - 1] = even / factorial;
        k += 1;
    }
    terms
};

#[cfg(test)]
mod tests {
    use super::*;

    type OfOne = fn(f64) -> f64;
    type OfTwo = fn(f64, f64) -> f64;

    #[test]
    fn tails_keep_their_digits() {
        // x and f(x), rounded from 50 digits.
        let cases: &[(&str, OfOne, f64, f64)] = &[
            ("sigmoid", sigmoid, -740.0, 4.2e-322),
            ("sigmoid", sigmoid, -30.0, 9.357622968839299e-14),
            ("sigmoid", sigmoid, -0.5, 0.37754066879814546),
            ("sigmoid", sigmoid, 0.25, 0.5621765008857981),
            ("sigmoid", sigmoid, 3.0, 0.9525741268224333),
            ("silu", silu, -720.0, -1.46320617774547e-310),
            ("silu", silu, -30.5, -1.7310839959528822e-12),
            ("silu", silu, -1.25, -0.27837517353163604),
            ("silu", silu, 0.5, 0.3112296656009273),
            ("silu", silu, 20.0, 19.99999995877693),
            ("mish", mish, -600.5, -9.653318352611735e-259),
            ("mish", mish, -41.0, -6.407816976273453e-17),
            ("mish", mish, -5.0, -0.033576237730161704),
            ("mish", mish, -0.125, -0.06997990718000248),
            ("mish", mish, 0.75, 0.6100183352182934),
            ("mish", mish, 30.0, 30.0),
            ("gelu", gelu, -37.0, -2.1184613523340935e-298),
            ("gelu", gelu, -12.5, -4.665705373597142e-35),
            ("gelu", gelu, -1.5, -0.1002108019032871),
            ("gelu", gelu, -0.75, -0.16997051428265114),
            ("gelu", gelu, -1e-09, -4.999999996010577e-10),
            ("gelu", gelu, 0.3125, 0.1945842870219241),
            ("gelu", gelu, 5.0, 4.999998566742141),
            ("gelu_tanh", gelu_tanh, -21.0, -6.016648487631484e-301),
            ("gelu_tanh", gelu_tanh, -6.5, -6.278258772591402e-13),
            ("gelu_tanh", gelu_tanh, -1.0, -0.1588080093917233),
            ("gelu_tanh", gelu_tanh, -0.125, -0.05628280137577661),
            ("gelu_tanh", gelu_tanh, 0.3125, 0.19458135580589261),
            ("gelu_tanh", gelu_tanh, 4.0, 3.9999297540518075),
            ("tanh_shrink", tanh_shrink, -1e-09, -3.3333333333333338e-28),
            ("tanh_shrink", tanh_shrink, 0.015625, 1.2714415911347977e-06),
            ("tanh_shrink", tanh_shrink, 0.5, 0.03788284273999024),
            ("tanh_shrink", tanh_shrink, 1.75, 0.8086244615027126),
            ("tanh_shrink", tanh_shrink, 2.5, 1.5133857018485697),
        ];
        for &(name, f, x, want) in cases {
            let got = f(x);
            assert!((got - want).abs() <= 1e-15 * want.abs(), "{name}({x}) = {got}, not {want}");
        }
    }

    #[test]
    fn functions_of_two_numbers() {
        let cases: &[(&str, OfTwo, f64, f64, f64)] = &[
            ("log_add_exp", log_add_exp, -0.5, -0.75, 0.07593941987884356),
            ("log_add_exp", log_add_exp, 3.0, -800.0, 3.0),
            ("log_add_exp", log_add_exp, -400.0, -401.5, -399.79858672201726),
            ("log_add_exp", log_add_exp, 0.001, -7.5, 0.001552378972868455),
            ("softplus", softplus, -0.5, 2.0, 0.1566308437591114),
            ("softplus", softplus, -100.0, 0.1, 0.0004539889921686462),
            ("softplus", softplus, 30.0, 0.5, 30.00000061180455),
            ("softplus", softplus, -1.5, 3.0, 0.003682581616197939),
            ("softplus", softplus, -300.0, 2.0, 1.3251982765021554e-261),
        ];
        for &(name, f, a, b, want) in cases {
            let got = f(a, b);
            assert!((got - want).abs() <= 1e-15 * want.abs(), "{name}({a}, {b}) = {got}");
        }
    }
}
