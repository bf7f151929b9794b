//! The gamma function's logarithm and its derivatives, in `f64`.

use std::f64::consts::PI;

use super::special::polynomial;

/// lgamma(1 + d) / d as a polynomial in d, for |d| <= 0.5.
const LGAMMA_NEAR_ONE: [f64; 30] = [
    -0.5772156649015329,
    0.8224670334241132,
    -0.40068563438653065,
    0.27058080842778026,
    -0.20738555102889636,
    0.16955717699821546,
    -0.14404989674293042,
    0.12550966945361255,
    -0.11133426744819344,
    0.10009946106870661,
    -0.09095395937948512,
    0.08335372852716888,
    -0.07693389168797567,
    0.07143531456613504,
    -0.06664634848826916,
    0.06246601996645537,
    -0.05907935115771443,
    0.055923603007143954,
    -0.05055361916461507,
    0.047207949581154034,
    -0.05967209611450288,
    0.06069988251670486,
    0.005627198134008818,
    -0.017221996443625896,
    -0.17545100195447957,
    0.1933124209110138,
    0.19662943603137412,
    -0.21990054046608104,
    -0.24134519253805736,
    0.25001640963788685,
];

/// lgamma(2 + d) / d as a polynomial in d, for |d| <= 0.5.
const LGAMMA_NEAR_TWO: [f64; 20] = [
    0.42278433509846713,
    0.3224670334241132,
    -0.06735230105319814,
    0.02058080842778463,
    -0.007385551028668096,
    0.0028905103307343394,
    -0.0011927539120033873,
    0.0005096695250262799,
    -0.00022315475069647703,
    9.945750665169756e-05,
    -4.492635166770342e-05,
    2.0507292365464966e-05,
    -9.438454884054723e-06,
    4.374221208333783e-06,
    -2.044935323180052e-06,
    9.584290249224467e-07,
    -4.303234692956732e-07,
    2.0192169921430407e-07,
    -1.341570273460026e-07,
    6.473973449314896e-08,
];

/// digamma(x) / (x - root) as a polynomial in x - 1.5, for 1 <= x <= 2.
const DIGAMMA_NEAR_ROOT: [f64; 23] = [
    0.9510558760318328,
    -0.4236274212814606,
    0.24054248424078736,
    -0.14840492305388006,
    0.09498872445282817,
    -0.06192213327556183,
    0.040760833944741226,
    -0.02697579665686472,
    0.01790724819228875,
    -0.011908220169786002,
    0.007927024136843637,
    -0.0052799364178857415,
    0.0035180792717028125,
    -0.0023455016279107115,
    0.0015635739915515125,
    -0.0010364227247828023,
    0.0006899428514219089,
    -0.00048606417050412354,
    0.00032689316473621455,
    -0.00014460384609240088,
    9.158816882117e-05,
    -0.00017837342400462423,
    0.00012241591000024265,
];

/// The positive root of digamma, in two parts.
const DIGAMMA_ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// The Bernoulli numbers B2, B4, ….
const BERNOULLI: [f64; 13] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
    8553103.0 / 6.0,
];

/// From here on the asymptotic series have all digits.
const FAR: f64 = 12.0;

/// ln(2 pi) / 2.
const HALF_LN_TWO_PI: f64 = 0.9189385332046728;

/// The logarithm of |gamma(x)|; infinite at zero and at negative whole numbers.
pub(crate) fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 0.0 {
        return lgamma_positive(x);
    }
    let distance = to_nearest_whole(x);
    if distance == 0.0 || x.is_infinite() {
        return f64::INFINITY;
    }
    if x > -1e-17 {
        return -(-x).ln();
    }
    // gamma(x) gamma(-x) = -pi / (x sin(pi x))
    (PI / (x * (PI * distance).sin()).abs()).ln() - lgamma_positive(-x)
}

fn lgamma_positive(x: f64) -> f64 {
    if x < 0.5 {
        x * polynomial(&LGAMMA_NEAR_ONE, x) - x.ln()
    } else if x < 1.5 {
        // The sum makes the zero at 1 a positive one.
        (x - 1.0) * polynomial(&LGAMMA_NEAR_ONE, x - 1.0) + 0.0
    } else if x < 2.5 {
        (x - 2.0) * polynomial(&LGAMMA_NEAR_TWO, x - 2.0)
    } else if x < FAR {
        let (mut x, mut product) = (x, 1.0);
        while x >= 2.5 {
            x -= 1.0;
            product *= x;
        }
        (x - 2.0) * polynomial(&LGAMMA_NEAR_TWO, x - 2.0) + product.ln()
    } else {
        let inverse = x.recip();
        let mut sum = HALF_LN_TWO_PI - 0.5;
        let mut power = inverse;
        for (k, bernoulli) in (1..).zip(BERNOULLI) {
            sum += bernoulli * power / (2 * k * (2 * k - 1)) as f64;
            power *= inverse * inverse;
        }
        sum + (x - 0.5) * (x.ln() - 1.0)
    }
}

/// The derivative of [`lgamma`]; infinite at zero, NaN at negative whole numbers.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY.copysign(-x);
    }
    if x > 0.0 {
        return digamma_positive(x);
    }
    let distance = to_nearest_whole(x);
    if distance == 0.0 || x.is_infinite() {
        return f64::NAN;
    }
    digamma_positive(1.0 - x) - PI / (PI * distance).tan()
}

fn digamma_positive(x: f64) -> f64 {
    let near_root =
        |x: f64| ((x - DIGAMMA_ROOT.0) - DIGAMMA_ROOT.1) * polynomial(&DIGAMMA_NEAR_ROOT, x - 1.5);
    if x < 1.0 {
        near_root(x + 1.0) - x.recip()
    } else if x < FAR {
        let (mut x, mut sum) = (x, 0.0);
        while x > 2.0 {
            x -= 1.0;
            sum += x.recip();
        }
        near_root(x) + sum
    } else {
        let inverse = x.recip();
        let square = inverse * inverse;
        let (mut sum, mut power) = (-0.5 * inverse, square);
        for (k, bernoulli) in (1..).zip(BERNOULLI) {
            sum -= bernoulli * power / (2 * k) as f64;
            power *= square;
        }
        sum + x.ln()
    }
}

/// The `n`-th derivative of [`digamma`]; NaN for an `n` that is not an order.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n.fract() != 0.0 || !(1.0..=MAX_ORDER).contains(&n) || x.is_nan() {
        return f64::NAN;
    }
    let order = n as usize;
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    if x > 0.0 {
        return sign * zeta_times_factorial(order, x);
    }
    let distance = to_nearest_whole(x);
    if distance == 0.0 || x.is_infinite() {
        return if order % 2 == 1 && x.is_finite() { f64::INFINITY } else { f64::NAN };
    }
    // (-1)^n polygamma(n, 1 - x) - polygamma(n, x) = pi d^n/dx^n cot(pi x)
    -zeta_times_factorial(order, 1.0 - x) - cotangent_derivative(order, distance)
}

/// The highest order that [`polygamma`] has.
pub(crate) const MAX_ORDER: f64 = 100.0;

/// n! times the sum of 1 / (x + k)^(n + 1) over all k >= 0, for x > 0, by Euler and Maclaurin.
fn zeta_times_factorial(n: usize, x: f64) -> f64 {
    let s = n as f64 + 1.0;
    if x > 1e17 {
        return scaled_power(n - 1, x);
    }
    let far = FAR + s;
    let (mut at, mut sum) = (x, 0.0);
    while at < far {
        let term = scaled_power(n, at);
        sum += term;
        if term < sum * 1e-18 {
            return sum;
        }
        at += 1.0;
    }
    let power = scaled_power(n, at);
    let (mut tail, mut factor) = (0.0, s / at);
    for (k, bernoulli) in (1..).zip(BERNOULLI) {
        let (upper, even) = (s + (2 * k - 1) as f64, (2 * k) as f64);
        tail += bernoulli * factor / (even * (even - 1.0));
        factor *= upper * (upper + 1.0) / (at * at * even * (even - 1.0));
    }
    sum + (power * at / (s - 1.0) + power * 0.5 + power * tail)
}

/// n! / x^(n + 1)
fn scaled_power(n: usize, x: f64) -> f64 {
    let power = x.powf(-(n as f64 + 1.0));
    if (1e-290..1e290).contains(&power) {
        return (2..=n).fold(1.0, |product, k| product * k as f64) * power;
    }
    (1..=n).fold(x.recip(), |product, k| product * (k as f64 / x))
}

/// d^n/dx^n of pi cot(pi x), by the polynomial in the cotangent that it is.
fn cotangent_derivative(n: usize, x: f64) -> f64 {
    let mut coefficients = vec![0.0, 1.0];
    for _ in 0..n {
        // The derivative of c^k is -k c^(k-1) (1 + c^2), with c the cotangent.
        let mut next = vec![0.0; coefficients.len() + 1];
        for (k, &coefficient) in coefficients.iter().enumerate().skip(1) {
            next[k - 1] -= k as f64 * coefficient;
            next[k + 1] -= k as f64 * coefficient;
        }
        coefficients = next;
    }
    let cotangent = (PI * x).tan().recip();
    polynomial(&coefficients, cotangent) * PI.powi(n as i32 + 1)
}

/// `x` minus the nearest whole number, exactly.
fn to_nearest_whole(x: f64) -> f64 {
    x - x.round()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(what: &str, got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{what} = {got}, not {want}");
    }

    #[test]
    fn against_high_precision_values() {
        // x and lgamma(x), rounded from 50 digits.
        for (x, want) in [
            (1e-20, 46.051701859880914),
            (0.25, 1.2880225246980774),
            (0.5, 0.5723649429247001),
            (0.9, 0.06637623973474295),
            (0.9999999, 5.772157468444193e-08),
            (1.0000001, -5.772155829918507e-08),
            (1.4, -0.1196129141723713),
            (1.9999, -4.227520877215346e-05),
            (2.0001, 4.2281658112919945e-05),
            (2.5, 0.2846828704729192),
            (3.25, 0.9358019311087253),
            (7.3, 7.147892523022248),
            (11.9, 17.25847745059552),
            (12.0, 17.502307845873887),
            (35.5, 90.35493026581838),
            (100000.0, 1051287.7089736569),
            (1e+300, 6.897755278982137e+302),
            (-1e-20, 46.051701859880914),
            (-1e-05, 11.512931237209125),
            (-0.5, 1.2655121234846454),
            (-1.5, 0.860047015376481),
            (-10.25, -14.20399790093109),
            (-100.5, -364.90096830942736),
        ] {
            close(&format!("lgamma({x})"), lgamma(x), want, 2e-15);
        }
        // x and digamma(x).
        for (x, want) in [
            (1e-20, -1e+20),
            (0.25, -4.2274535333762655),
            (0.9, -0.7549269499470513),
            (1.4616321, -4.3514636958769774e-08),
            (1.4616322, 5.325258698206045e-08),
            (1.9999, 0.42271983967113097),
            (2.0001, 0.4228488264846654),
            (3.5, 1.103156640645243),
            (11.9, 2.4339335368825377),
            (12.5, 2.4851956512749123),
            (100000.0, 11.512920464961896),
            (1e+300, 690.7755278982137),
            (-1e-20, 1e+20),
            (-0.25, 2.9141391202135276),
            (-1.5625, 0.10844994805819416),
            (-10.25, 5.516858419886273),
        ] {
            close(&format!("digamma({x})"), digamma(x), want, 2e-15);
        }
        // n, x and polygamma(n, x).
        for (n, x, want) in [
            (1.0, 1e-05, 10000000001.644909),
            (1.0, 0.5, 4.934802200544679),
            (1.0, 1.0, 1.6449340668482264),
            (1.0, 3.25, 0.3597982903095799),
            (1.0, 12.0, 0.08690187287176838),
            (1.0, 250.0, 0.004008010666632534),
            (1.0, 1e+20, 1e-20),
            (1.0, -0.25, 18.541879647671607),
            (1.0, -1.75, 19.301637544529786),
            (1.0, -10.4375, 10.168741383322038),
            (2.0, 1e-05, -2000000000000002.0),
            (2.0, 0.5, -16.82879664423432),
            (2.0, 1.0, -2.4041138063191885),
            (2.0, 3.25, -0.12815694713911513),
            (2.0, 12.0, -0.007547205368998912),
            (2.0, 250.0, -1.6064127999317343e-05),
            (2.0, 1e+20, -1e-40),
            (2.0, -0.25, 122.69736678366236),
            (2.0, -1.75, -124.21382135423057),
            (2.0, -10.4375, 12.814772733566667),
            (3.0, 1e-05, 5.999999999999999e+20),
            (3.0, 0.5, 97.40909103400244),
            (3.0, 1.0, 6.493939402266829),
            (3.0, 3.25, 0.09043335532465574),
            (3.0, 12.0, 0.001310093231070826),
            (3.0, 250.0, 1.2877004798361634e-07),
            (3.0, 1e+20, 2e-60),
            (3.0, -0.25, 1555.7633125348507),
            (3.0, -1.75, 1558.3848404165494),
            (3.0, -10.4375, 226.5644169709375),
            (5.0, 1e-05, 1.1999999999999994e+32),
            (5.0, 0.5, 7691.113548602436),
            (5.0, 1.0, 122.0811674381339),
            (5.0, 3.25, 0.13160608578097313),
            (5.0, 12.0, 0.00011820829051081491),
            (5.0, 250.0, 2.482274302532044e-11),
            (5.0, 1e+20, 2.4e-99),
            (5.0, -0.25, 492198.7533428746),
            (5.0, -1.75, 492230.9303018743),
            (5.0, -10.4375, 20923.81013041427),
            (30.0, 7.5, -202269.48205191913),
            (100.0, 10000.0, -9.379363201543512e-245),
        ] {
            close(&format!("polygamma({n}, {x})"), polygamma(n, x), want, 1e-14);
        }
    }

    #[test]
    fn poles_and_ends() {
        let infinity = f64::INFINITY;
        for x in [0.0, -0.0, -1.0, -2.0, -1e20, infinity, -infinity] {
            assert_eq!(lgamma(x), infinity, "{x}");
        }
        for zero in [lgamma(1.0), lgamma(2.0)] {
            assert!(zero == 0.0 && zero.is_sign_positive());
        }
        assert_eq!((digamma(0.0), digamma(-0.0)), (-infinity, infinity));
        assert_eq!(digamma(infinity), infinity);
        assert!(
            digamma(-1.0).is_nan() && digamma(-infinity).is_nan() && digamma(f64::NAN).is_nan()
        );
        assert_eq!((polygamma(1.0, 0.0), polygamma(1.0, infinity)), (infinity, 0.0));
        assert!(polygamma(0.5, 1.0).is_nan() && polygamma(-1.0, 1.0).is_nan());
        assert!(polygamma(101.0, 1.0).is_nan() && lgamma(f64::NAN).is_nan());
    }
}
