//! Functions that the standard library lacks, or has with too little accuracy, in `f64`.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// erf(x)/x - 1 as a polynomial in x², for |x| < 1.
const ERF_SMALL: [f64; 12] = [
    0.12837916709551256,
    -0.37612638903183543,
    0.11283791670945006,
    -0.02686617064323777,
    0.0052239776071164225,
    -0.0008548325975389692,
    0.00012055294904839707,
    -1.492473690741966e-05,
    1.6447424703317362e-06,
    -1.6208483801871705e-07,
    1.3720064546777686e-08,
    -7.795898827002142e-10,
];

/// (1 + 2x) exp(x²) erfc(x) as a polynomial in (x - 3)/(x + 3), for 0.5 <= x <= 28.
const ERFC_LARGE: [f64; 22] = [
    1.2530080582697296,
    -0.13562110612458134,
    -0.04756229435345058,
    0.1296451587027835,
    -0.11927366341532432,
    0.06830802734307077,
    -0.023770514918036445,
    0.002529391832675186,
    0.0018886903466049378,
    -0.0007798324398793133,
    -0.0001051596522473519,
    0.00012510037313823361,
    4.9484535339192485e-06,
    -2.0104454851557477e-05,
    -7.270603109882931e-07,
    3.481686983452046e-06,
    3.4482536968247793e-07,
    -6.299129103282541e-07,
    -1.2169240627639653e-07,
    1.1177528463195771e-07,
    2.292393009921899e-08,
    -1.541055292474667e-08,
];

/// Past this point erfc is 0 in `f64`.
const ERFC_END: f64 = 28.0;

/// The error function; relative error below 1e-15.
pub(crate) fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size < 1.0 {
        x + x * polynomial(&ERF_SMALL, x * x)
    } else if size.is_nan() {
        x
    } else {
        (1.0 - erfc_large(size)).copysign(x)
    }
}

/// 1 - erf(x); relative error below 1e-15 as long as the result is a normal number.
pub(crate) fn erfc(x: f64) -> f64 {
    if x >= 0.5 {
        erfc_large(x)
    } else if x > -1.0 {
        1.0 - erf(x)
    } else if x.is_nan() {
        x
    } else {
        2.0 - erfc_large(-x)
    }
}

/// erfc for x >= 0.5.
fn erfc_large(x: f64) -> f64 {
    if x > ERFC_END {
        return 0.0;
    }
    gauss(x, 1.0) * erfcx_large(x)
}

/// exp(-x^2 / 2) exp(t^2) erfc(t) with t = x / sqrt(2), for x >= 1: twice the chance that a normal
/// number is above x.
pub(crate) fn gauss_times_erfcx(x: f64) -> f64 {
    if x > ERFC_END * SQRT_2 {
        return 0.0;
    }
    gauss(x, 0.5) * erfcx_large(x * FRAC_1_SQRT_2)
}

/// exp(-x^2 scale) for a power of two as scale.
fn gauss(x: f64, scale: f64) -> f64 {
    // `head` has 26 bits, so its square is exact and exp gets no rounded argument.
    let head = f64::from_bits(x.to_bits() & !0x07ff_ffff);
    (-head * head * scale).exp() * ((head - x) * (head + x) * scale).exp()
}

/// exp(x^2) erfc(x) for 0.5 <= x <= 28.
fn erfcx_large(x: f64) -> f64 {
    polynomial(&ERFC_LARGE, (x - 3.0) / (x + 3.0)) / (1.0 + 2.0 * x)
}

/// `coefficients[0] + coefficients[1] * x + …`
pub(crate) fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &coefficient| sum * x + coefficient)
}

/// The inverse hyperbolic sine.
pub(crate) fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let result = if size > 1e150 {
        size.ln() + std::f64::consts::LN_2
    } else {
        let square = size * size;
        (size + square / (1.0 + (square + 1.0).sqrt())).ln_1p()
    };
    result.copysign(x)
}

/// The inverse hyperbolic cosine; NaN below 1.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    if x > 1e150 {
        return x.ln() + std::f64::consts::LN_2;
    }
    let above_one = x - 1.0;
    (above_one + (above_one * (above_one + 2.0)).sqrt()).ln_1p()
}

/// The inverse hyperbolic tangent; NaN outside -1 to 1.
pub(crate) fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) -> bool {
        got == want || (got - want).abs() <= tolerance * want.abs()
    }

    #[test]
    fn erf_and_erfc_against_high_precision_values() {
        // x, erf(x), erfc(x), erfc(-x), rounded from 40 digits.
        for (x, want_erf, want_erfc, want_mirrored) in [
            (0.0, 0.0, 1.0, 1.0),
            (1e-300, 1.1283791670955126e-300, 1.0, 1.0),
            (1e-08, 1.1283791670955126e-08, 0.9999999887162083, 1.0000000112837917),
            (0.1, 0.1124629160182849, 0.887537083981715, 1.1124629160182848),
            (0.3, 0.3286267594591274, 0.6713732405408726, 1.3286267594591274),
            (0.49999, 0.5204910899433182, 0.4795089100566818, 1.5204910899433182),
            (0.5, 0.5204998778130465, 0.4795001221869535, 1.5204998778130465),
            (0.7, 0.6778011938374184, 0.32219880616258156, 1.6778011938374184),
            (0.99999, 0.8426966418332298, 0.1573033581667702, 1.8426966418332298),
            (1.0, 0.8427007929497149, 0.15729920705028513, 1.8427007929497148),
            (1.5, 0.9661051464753108, 0.033894853524689274, 1.9661051464753108),
            (2.0, 0.9953222650189527, 0.004677734981047266, 1.9953222650189528),
            (3.0, 0.9999779095030014, 2.209049699858544e-05, 1.9999779095030015),
            (4.5, 0.9999999998033839, 1.9661604415428876e-10, 1.999999999803384),
            (5.9, 0.9999999999999999, 7.190409783550478e-17, 2.0),
            (8.0, 1.0, 1.1224297172982926e-29, 2.0),
            (12.0, 1.0, 1.3562611692059042e-64, 2.0),
            (20.0, 1.0, 5.395865611607901e-176, 2.0),
            (26.0, 1.0, 5.663192408856143e-296, 2.0),
            (f64::INFINITY, 1.0, 0.0, 2.0),
        ] {
            assert!(close(erf(x), want_erf, 1e-15), "erf({x}) = {}", erf(x));
            assert!(close(erf(-x), -want_erf, 1e-15), "erf(-{x}) = {}", erf(-x));
            assert!(close(erfc(x), want_erfc, 1e-15), "erfc({x}) = {}", erfc(x));
            assert!(close(erfc(-x), want_mirrored, 1e-15), "erfc(-{x}) = {}", erfc(-x));
        }
        assert!(erf(f64::NAN).is_nan() && erfc(f64::NAN).is_nan());
        assert!(erf(-0.0).is_sign_negative());
    }

    #[test]
    fn inverse_hyperbolic_functions() {
        // asinh, acosh(1 + x), atanh(x / (1 + x)) at x, rounded from 40 digits.
        for (x, want_asinh, want_acosh, want_atanh) in [
            (0.0, 0.0, 0.0, 0.0),
            (8.673617379884035e-19, 8.673617379884035e-19, 0.0, 8.673617379884035e-19),
            (
                9.5367431640625e-07,
                9.536743164061055e-07,
                0.0013810678222475811,
                9.536734069127047e-07,
            ),
            (0.125, 0.12467674692144275, 0.4949329230945269, 0.11157177565710487),
            (0.5, 0.48121182505960347, 0.9624236501192069, 0.34657359027997264),
            (1.0, 0.881373587019543, 1.3169578969248168, 0.5493061443340549),
            (3.0, 1.8184464592320668, 2.0634370688955603, 0.9729550745276566),
            (1000.0, 7.600902709541988, 7.601901710374324, 3.8007011672918836),
            (10000000000.0, 23.7189981105004, 23.718998110600403, 11.859499013855018),
        ] {
            assert!(close(asinh(x), want_asinh, 1e-15), "asinh({x}) = {}", asinh(x));
            assert!(close(asinh(-x), -want_asinh, 1e-15));
            assert!(
                close(acosh(1.0 + x), want_acosh, 1e-15),
                "acosh(1 + {x}) = {}",
                acosh(1.0 + x)
            );
            let tangent = x / (1.0 + x);
            assert!(
                close(atanh(tangent), want_atanh, 1e-14),
                "atanh({tangent}) = {}",
                atanh(tangent)
            );
        }
        assert_eq!(asinh(f64::INFINITY), f64::INFINITY);
        assert_eq!(acosh(f64::INFINITY), f64::INFINITY);
        assert!(acosh(-1e10).is_nan() && acosh(f64::MIN).is_nan() && acosh(f64::NAN).is_nan());
        assert!(acosh(0.5).is_nan() && atanh(1.5).is_nan() && asinh(f64::NAN).is_nan());
        assert_eq!(atanh(1.0), f64::INFINITY);
        assert_eq!(atanh(-1.0), f64::NEG_INFINITY);
        assert!(asinh(-0.0).is_sign_negative() && atanh(-0.0).is_sign_negative());
    }
}
