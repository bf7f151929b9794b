fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }
fn of_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }
fn infinity() -> f32 { var bits = 0x7f800000u; return of_bits(bits); }
fn not_a_number() -> f32 { var bits = 0x7fc00000u; return of_bits(bits); }
fn whole(x: vec2<u32>) -> i32 { return i32(x.x); }
fn pair(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), select(0u, 0xffffffffu, x < 0)); }
fn i32_of(x: f32) -> i32 {
    if (is_nan(x)) { return 0i; }
    if (x >= 2147483648.0) { return 2147483647i; }
    if (x < -2147483648.0) { return bitcast<i32>(0x80000000u); }
    return i32(x);
}
fn u8_of(x: f32) -> u32 { return select(u32(clamp(x, 0.0, 255.0)), 0u, is_nan(x)); }
fn fl_max(a: f32, b: f32) -> f32 { return select(select(b, a, a > b), a + b, is_nan(a) || is_nan(b)); }
fn fl_min(a: f32, b: f32) -> f32 { return select(select(b, a, a < b), a + b, is_nan(a) || is_nan(b)); }
fn fl_fmax(a: f32, b: f32) -> f32 { return select(select(select(b, a, a > b), a, is_nan(b)), b, is_nan(a)); }
fn fl_fmin(a: f32, b: f32) -> f32 { return select(select(select(b, a, a < b), a, is_nan(b)), b, is_nan(a)); }
fn fl_copy_sign(a: f32, b: f32) -> f32 {
    return of_bits((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}
fn fl_sign(x: f32) -> f32 { return select(select(select(x, 1.0, x > 0.0), -1.0, x < 0.0), x, is_nan(x)); }
// e^x: (1 + part) 2^whole with a polynomial for the part.
fn fl_exp(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let inside = clamp(x, -104.0, 89.0);
    let n = round(inside * 1.44269504);
    let r = fma(n, 0.00021219444, fma(n, -0.693359375, inside));
    var terms = fma(0.0013940542, r, 0.008369002);
    terms = fma(terms, r, 0.041666403);
    terms = fma(terms, r, 0.16666518);
    terms = fma(terms, r, 0.5);
    let part = fma(r * r, terms, r);
    let all = i32(n);
    let half = all >> 1u;
    let first = of_bits(u32(half + 127) << 23u);
    let second = of_bits(u32(all - half + 127) << 23u);
    if (x <= -104.0) { return 0.0; }
    if (x > 88.73) { return infinity(); }
    return fma(part, first, first) * second;
}
// The exponent, and a polynomial for what is between sqrt(1/2) and sqrt(2).
fn fl_log(x: f32) -> f32 {
    if (is_nan(x) || x < 0.0) { return not_a_number(); }
    if (x == 0.0) { return -infinity(); }
    if (is_inf(x)) { return x; }
    let is_tiny = x < 1.17549435e-38;
    let above = bitcast<u32>(select(x, x * 8388608.0, is_tiny)) - 0x3f3504f3u;
    let exponent = f32(bitcast<i32>(above) >> 23u) - select(0.0, 23.0, is_tiny);
    let f = of_bits((above & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    let square = f * f;
    var terms = fma(0.06971621, f, -0.11479749);
    terms = fma(terms, f, 0.116854236);
    terms = fma(terms, f, -0.12425686);
    terms = fma(terms, f, 0.14249057);
    terms = fma(terms, f, -0.16667803);
    terms = fma(terms, f, 0.20000716);
    terms = fma(terms, f, -0.24999997);
    terms = fma(terms, f, 0.3333333);
    var low = fma(exponent, -0.00021219444, f * square * terms);
    low = fma(square, -0.5, low);
    return fma(exponent, 0.693359375, f + low);
}
fn fl_log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    if (u == 1.0 || is_inf(x)) { return x; }
    return fl_log(u) * (x / (u - 1.0));
}
fn fl_expm1(x: f32) -> f32 {
    if (abs(x) < 0.35) {
        var terms = fma(x, 1.0 / 40320.0, 1.0 / 5040.0);
        terms = fma(terms, x, 1.0 / 720.0);
        terms = fma(terms, x, 1.0 / 120.0);
        terms = fma(terms, x, 1.0 / 24.0);
        terms = fma(terms, x, 1.0 / 6.0);
        terms = fma(terms, x, 0.5);
        return fma(x * x, terms, x);
    }
    return fl_exp(x) - 1.0;
}
fn fl_exp2(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x >= 128.0) { return infinity(); }
    if (x < -150.0) { return 0.0; }
    let n = round(x);
    let half = i32(n) >> 1u;
    let rest = fl_exp((x - n) * 0.69314718);
    return rest * of_bits(u32(half + 127) << 23u) * of_bits(u32(i32(n) - half + 127) << 23u);
}
fn fl_log2(x: f32) -> f32 { return fl_log(x) * 1.44269504; }
fn fl_log10(x: f32) -> f32 { return fl_log(x) * 0.43429448; }
fn fl_tanh(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let e = fl_expm1(-2.0 * min(abs(x), 20.0));
    return fl_copy_sign(-e / (2.0 + e), x);
}
fn fl_sigmoid(x: f32) -> f32 {
    let small = fl_exp(-abs(x));
    return select(1.0, small, x < 0.0) / (1.0 + small);
}
fn fl_silu(x: f32) -> f32 { return select(x * fl_sigmoid(x), -0.0, x < -115.0); }
fn fl_softplus(a: f32, b: f32) -> f32 {
    let x = a * b;
    return (max(x, 0.0) + fl_log1p(fl_exp(-abs(x)))) / b;
}
fn fl_mish(x: f32) -> f32 {
    let small = fl_exp(-abs(x));
    if (x < -40.0) { return fl_silu(x); }
    let part = select(1.0 + 2.0 * small, small * (small + 2.0), x < 0.0);
    return x * (part / (part + select(2.0 * small * small, 2.0, x < 0.0)));
}
fn fl_log_add_exp(a: f32, b: f32) -> f32 {
    if (a == b) { return a + 0.69314718; }
    return select(b, a, a > b) + fl_log1p(fl_exp(-abs(a - b)));
}
fn fl_erf(x: f32) -> f32 {
    let size = abs(x);
    if (size < 0.9) {
        let s = x * x;
        var terms = 7.853861e-5;
        terms = fma(terms, s, -8.010193e-4);
        terms = fma(terms, s, 5.188327e-3);
        terms = fma(terms, s, -2.6853812e-2);
        terms = fma(terms, s, 1.1283589e-1);
        terms = fma(terms, s, -3.7612626e-1);
        return x * fma(terms, s, 1.1283791);
    }
    return select(fl_copy_sign(1.0 - fl_erfc_tail(size), x), x, is_nan(x));
}
// erfc of positive numbers, with the relative error of a few units in the last place.
fn fl_erfc_tail(x: f32) -> f32 {
    if (x > 10.6) { return 0.0; }
    let t = 1.0 / fma(0.5, x, 1.0);
    var terms = fma(t, 0.17087277, -0.82215223);
    terms = fma(terms, t, 1.48851587);
    terms = fma(terms, t, -1.13520398);
    terms = fma(terms, t, 0.27886807);
    terms = fma(terms, t, -0.18628806);
    terms = fma(terms, t, 0.09678418);
    terms = fma(terms, t, 0.37409196);
    terms = fma(terms, t, 1.00002368);
    // x^2 in two parts, so that exp keeps its digits.
    let square = x * x;
    let rest = fma(x, x, -square);
    return t * fl_exp(-square) * fl_exp(fma(t, terms, -1.26551223) - rest);
}
fn fl_erfc(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (abs(x) < 0.5) { return 1.0 - fl_erf(x); }
    let tail = fl_erfc_tail(abs(x));
    return select(tail, 2.0 - tail, x < 0.0);
}
fn fl_gelu(x: f32) -> f32 { return select(0.5 * x * fl_erfc(-x * 0.70710678), -0.0, x < -15.0); }
fn fl_gelu_tanh(x: f32) -> f32 {
    if (abs(x) > 40.0) { return select(x * 0.0, x, x > 0.0); }
    return x * fl_sigmoid(x * fma(0.071354816 * x, x, 1.5957691));
}
fn fl_sin(x: f32) -> f32 { return select(sin(x), not_a_number(), !is_finite(x)); }
fn fl_cos(x: f32) -> f32 { return select(cos(x), not_a_number(), !is_finite(x)); }
fn fl_tan(x: f32) -> f32 { return fl_sin(x) / fl_cos(x); }
fn fl_sinh(x: f32) -> f32 {
    if (abs(x) < 0.35) {
        let s = x * x;
        return x * fma(s, fma(s, fma(s, 1.0 / 5040.0, 1.0 / 120.0), 1.0 / 6.0), 1.0);
    }
    let half = fl_exp(0.5 * abs(x));
    return fl_copy_sign(0.5 * half * half - 0.5 / half / half, x);
}
fn fl_cosh(x: f32) -> f32 {
    let half = fl_exp(0.5 * abs(x));
    return 0.5 * half * half + 0.5 / half / half;
}
fn fl_atan(x: f32) -> f32 { return select(atan(x), x, is_nan(x)); }
fn fl_pow(a: f32, b: f32) -> f32 {
    if (b == 0.0 || a == 1.0) { return 1.0; }
    if (is_nan(a) || is_nan(b)) { return a + b; }
    if (b == 1.0) { return a; }
    if (b == 2.0) { return a * a; }
    if (b == 3.0) { return a * a * a; }
    if (b == 0.5 && a >= 0.0) { return sqrt(a); }
    if (b == -1.0) { return 1.0 / a; }
    let is_whole = b == trunc(b);
    let is_odd = is_whole && abs(b) < 16777216.0 && (i32(b) & 1) != 0;
    if (a < 0.0 && !is_whole && !is_inf(a)) { return select(not_a_number(), select(0.0, infinity(), (abs(a) > 1.0) == (b > 0.0)), is_inf(b)); }
    if (a == 0.0 || is_inf(a) || is_inf(b)) {
        var size = 0.0;
        if (is_inf(b)) { size = select(select(0.0, infinity(), (abs(a) > 1.0) == (b > 0.0)), 1.0, abs(a) == 1.0); }
        else { size = select(0.0, infinity(), (a == 0.0) == (b < 0.0)); }
        return select(size, fl_copy_sign(size, a), is_odd);
    }
    // The logarithm to base 2 in two parts, and its product with b.
    let exponent = floor(fl_log2(abs(a)));
    let half = i32(exponent) >> 1u;
    let scaled = abs(a) * of_bits(u32(127 - half) << 23u) * of_bits(u32(127 - (i32(exponent) - half)) << 23u);
    let fraction = fl_log2(scaled);
    let high = b * exponent;
    let low = fma(b, exponent, -high) + b * fraction;
    let whole_part = round(high + low);
    let rest = (high - whole_part) + low;
    let size = fl_exp2(whole_part) * fl_exp(rest * 0.69314718);
    return select(size, -size, a < 0.0 && is_odd);
}
fn fl_floor_div(a: f32, b: f32) -> f32 { return (a - fl_rem(a, b)) / b; }
fn fl_rem(a: f32, b: f32) -> f32 {
    if (b == 0.0 || !is_finite(a) || is_nan(b)) { return not_a_number(); }
    if (is_inf(b)) { return select(b, a, a == 0.0 || (a < 0.0) == (b < 0.0)); }
    let rest = a % b;
    return select(rest, rest + b, rest != 0.0 && (rest < 0.0) != (b < 0.0));
}
fn fits(x: vec2<u32>) -> bool { return x.y == select(0u, 0xffffffffu, (x.x >> 31u) == 1u); }
fn lanes_sum(lane: u32, x: f32) -> f32 {
    workgroupBarrier();
    lanes_part[lane] = x;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half = half / 2u) {
        if (lane < half) { lanes_part[lane] = lanes_part[lane] + lanes_part[lane + half]; }
        workgroupBarrier();
    }
    return lanes_part[0];
}
fn lanes_max(lane: u32, x: f32) -> f32 {
    workgroupBarrier();
    lanes_part[lane] = x;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half = half / 2u) {
        if (lane < half) { lanes_part[lane] = fl_max(lanes_part[lane], lanes_part[lane + half]); }
        workgroupBarrier();
    }
    return lanes_part[0];
}
