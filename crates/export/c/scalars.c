//@ FL_FMA
#ifdef __FP_FAST_FMAF
#define FL_FMA(a, b, c) fmaf(a, b, c)
#else
#define FL_FMA(a, b, c) ((a) * (b) + (c))
#endif

//@ fl_bits fl_float
static inline uint32_t fl_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float fl_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

//@ fl_of_f16
static inline float fl_of_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, rest = h & 1023u;
    if (exponent == 0) {
        float small = (float)rest * 0x1p-24f;
        return sign ? -small : small;
    }
    if (exponent == 31) return fl_float(sign | 0x7f800000u | rest << 13);
    return fl_float(sign | (exponent + 112) << 23 | rest << 13);
}

//@ fl_f16_of
static inline uint16_t fl_f16_of(float x) {
    uint32_t bits = fl_bits(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
    if (size >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u) {
        float small = fl_float(size) * 0x1p24f;
        return (uint16_t)(sign | (uint32_t)rintf(small));
    }
    size += 0xfffu + (size >> 13 & 1u);
    return (uint16_t)(sign | ((size >> 13) - (112u << 10)));
}

//@ fl_of_bf16
static inline float fl_of_bf16(uint16_t h) { return fl_float((uint32_t)h << 16); }

//@ fl_bf16_of
static inline uint16_t fl_bf16_of(float x) {
    uint32_t bits = fl_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

//@ fl_abs_f32
static inline float fl_abs_f32(float x) { return fabsf(x); }

//@ fl_abs_f64
static inline double fl_abs_f64(double x) { return fabs(x); }

//@ fl_sign_f32
static inline float fl_sign_f32(float x) { return x < 0 ? -1 : x > 0 ? 1 : x + 0; }

//@ fl_sign_f64
static inline double fl_sign_f64(double x) { return x < 0 ? -1 : x > 0 ? 1 : x + 0; }

//@ fl_sqrt_f32
static inline float fl_sqrt_f32(float x) { return sqrtf(x); }

//@ fl_sqrt_f64
static inline double fl_sqrt_f64(double x) { return sqrt(x); }

//@ fl_rsqrt_f32
static inline float fl_rsqrt_f32(float x) { return 1 / sqrtf(x); }

//@ fl_rsqrt_f64
static inline double fl_rsqrt_f64(double x) { return 1 / sqrt(x); }

//@ fl_floor_f32
static inline float fl_floor_f32(float x) { return floorf(x); }

//@ fl_floor_f64
static inline double fl_floor_f64(double x) { return floor(x); }

//@ fl_ceil_f32
static inline float fl_ceil_f32(float x) { return ceilf(x); }

//@ fl_ceil_f64
static inline double fl_ceil_f64(double x) { return ceil(x); }

//@ fl_round_f32
static inline float fl_round_f32(float x) { return rintf(x); }

//@ fl_round_f64
static inline double fl_round_f64(double x) { return rint(x); }

//@ fl_trunc_f32
static inline float fl_trunc_f32(float x) { return truncf(x); }

//@ fl_trunc_f64
static inline double fl_trunc_f64(double x) { return trunc(x); }

//@ fl_is_nan_f32
static inline float fl_is_nan_f32(float x) { return x != x; }

//@ fl_is_nan_f64
static inline double fl_is_nan_f64(double x) { return x != x; }

//@ fl_is_inf_f32
static inline float fl_is_inf_f32(float x) { return fabsf(x) == INFINITY; }

//@ fl_is_inf_f64
static inline double fl_is_inf_f64(double x) { return fabs(x) == (double)INFINITY; }

//@ fl_is_finite_f32
static inline float fl_is_finite_f32(float x) { return fabsf(x) < INFINITY; }

//@ fl_is_finite_f64
static inline double fl_is_finite_f64(double x) { return fabs(x) < (double)INFINITY; }

//@ fl_exp2_f32
static inline float fl_exp2_f32(float x) { return exp2f(x); }

//@ fl_exp2_f64
static inline double fl_exp2_f64(double x) { return exp2(x); }

//@ fl_sin_f32
static inline float fl_sin_f32(float x) { return sinf(x); }

//@ fl_sin_f64
static inline double fl_sin_f64(double x) { return sin(x); }

//@ fl_cos_f32
static inline float fl_cos_f32(float x) { return cosf(x); }

//@ fl_cos_f64
static inline double fl_cos_f64(double x) { return cos(x); }

//@ fl_log2_f32
static inline float fl_log2_f32(float x) { return log2f(x); }

//@ fl_log2_f64
static inline double fl_log2_f64(double x) { return log2(x); }

//@ fl_expm1_f32
static inline float fl_expm1_f32(float x) { return (float)expm1((double)x); }

//@ fl_expm1_f64
static inline double fl_expm1_f64(double x) { return expm1(x); }

//@ fl_log1p_f32
static inline float fl_log1p_f32(float x) { return (float)log1p((double)x); }

//@ fl_log1p_f64
static inline double fl_log1p_f64(double x) { return log1p(x); }

//@ fl_log10_f32
static inline float fl_log10_f32(float x) { return (float)log10((double)x); }

//@ fl_log10_f64
static inline double fl_log10_f64(double x) { return log10(x); }

//@ fl_tan_f32
static inline float fl_tan_f32(float x) { return (float)tan((double)x); }

//@ fl_tan_f64
static inline double fl_tan_f64(double x) { return tan(x); }

//@ fl_asin_f32
static inline float fl_asin_f32(float x) { return (float)asin((double)x); }

//@ fl_asin_f64
static inline double fl_asin_f64(double x) { return asin(x); }

//@ fl_acos_f32
static inline float fl_acos_f32(float x) { return (float)acos((double)x); }

//@ fl_acos_f64
static inline double fl_acos_f64(double x) { return acos(x); }

//@ fl_atan_f32
static inline float fl_atan_f32(float x) { return (float)atan((double)x); }

//@ fl_atan_f64
static inline double fl_atan_f64(double x) { return atan(x); }

//@ fl_sinh_f32
static inline float fl_sinh_f32(float x) { return (float)sinh((double)x); }

//@ fl_sinh_f64
static inline double fl_sinh_f64(double x) { return sinh(x); }

//@ fl_cosh_f32
static inline float fl_cosh_f32(float x) { return (float)cosh((double)x); }

//@ fl_cosh_f64
static inline double fl_cosh_f64(double x) { return cosh(x); }

//@ fl_asinh_f32
static inline float fl_asinh_f32(float x) { return (float)asinh((double)x); }

//@ fl_asinh_f64
static inline double fl_asinh_f64(double x) { return asinh(x); }

//@ fl_acosh_f32
static inline float fl_acosh_f32(float x) { return (float)acosh((double)x); }

//@ fl_acosh_f64
static inline double fl_acosh_f64(double x) { return acosh(x); }

//@ fl_atanh_f32
static inline float fl_atanh_f32(float x) { return (float)atanh((double)x); }

//@ fl_atanh_f64
static inline double fl_atanh_f64(double x) { return atanh(x); }

//@ fl_erfc_f32
static inline float fl_erfc_f32(float x) { return (float)erfc((double)x); }

//@ fl_erfc_f64
static inline double fl_erfc_f64(double x) { return erfc(x); }

//@ fl_lgamma_f32
static inline float fl_lgamma_f32(float x) { return (float)lgamma((double)x); }

//@ fl_lgamma_f64
static inline double fl_lgamma_f64(double x) { return lgamma(x); }

//@ fl_exp_f64
static inline double fl_exp_f64(double x) { return exp(x); }

//@ fl_log_f64
static inline double fl_log_f64(double x) { return log(x); }

//@ fl_tanh_f64
static inline double fl_tanh_f64(double x) { return tanh(x); }

//@ fl_erf_f64
static inline double fl_erf_f64(double x) { return erf(x); }

//@ fl_power fl_exp_f32
// e^(x + rest), where rest is less than the last digit of x: (1 + part) 2^whole with a polynomial for the part; the power
// of two is a product of two, since it alone may be too large or too small for a number.
static inline float fl_power(float x, float rest) {
    const float inside = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
    const float shifted = FL_FMA(inside, 1.44269504f, 12583166.0f), whole = shifted - 12583166.0f;
    const float r = FL_FMA(whole, -0.693359375f, inside) + FL_FMA(whole, 0.00021219444f, rest);
    float terms = FL_FMA(0.0013940542f, r, 0.008369002f);
    terms = FL_FMA(terms, r, 0.041666403f);
    terms = FL_FMA(terms, r, 0.16666518f);
    terms = FL_FMA(terms, r, 0.5f);
    const float part = FL_FMA(r * r, terms, r);
    const uint32_t bits = fl_bits(shifted), half = bits >> 1;
    const float first = fl_float(half << 23), second = fl_float((bits - half) << 23);
    return x <= -104.0f ? 0.0f : FL_FMA(part, first, first) * second;
}
static inline float fl_exp_f32(float x) { return fl_power(x, 0.0f); }

//@ fl_log_f32
// The exponent, and a polynomial for what is between sqrt(1/2) and sqrt(2).
static inline float fl_log_f32(float x) {
    const float up = x < FLT_MIN ? x * 8388608.0f : x;
    const uint32_t above = fl_bits(up) - 0x3f3504f3u;
    const float exponent = (float)((int32_t)above >> 23) - (x < FLT_MIN ? 23.0f : 0.0f);
    const float f = fl_float((above & 0x007fffffu) + 0x3f3504f3u) - 1.0f, square = f * f;
    float terms = FL_FMA(0.06971621f, f, -0.11479749f);
    terms = FL_FMA(terms, f, 0.116854236f);
    terms = FL_FMA(terms, f, -0.12425686f);
    terms = FL_FMA(terms, f, 0.14249057f);
    terms = FL_FMA(terms, f, -0.16667803f);
    terms = FL_FMA(terms, f, 0.20000716f);
    terms = FL_FMA(terms, f, -0.24999997f);
    terms = FL_FMA(terms, f, 0.3333333f);
    float low = FL_FMA(exponent, -0.00021219444f, f * square * terms);
    low = FL_FMA(square, -0.5f, low);
    const float usual = FL_FMA(exponent, 0.693359375f, f + low);
    return x > FLT_MAX || x != x ? x : x > 0 ? usual : x == 0 ? -INFINITY : NAN;
}

//@ fl_tanh_f32
// With e = exp(-2|x|) - 1 it is -e / (2 + e).
static inline float fl_tanh_f32(float x) {
    const float size = -2.0f * fabsf(x), inside = size < -20.0f ? -20.0f : size;
    const float shifted = FL_FMA(inside, 1.44269504f, 12583039.0f), whole = shifted - 12583039.0f;
    float r = FL_FMA(whole, -0.693359375f, inside);
    r = FL_FMA(whole, 0.00021219444f, r);
    float terms = FL_FMA(0.0013940542f, r, 0.008369002f);
    terms = FL_FMA(terms, r, 0.041666403f);
    terms = FL_FMA(terms, r, 0.16666518f);
    terms = FL_FMA(terms, r, 0.5f);
    const float scale = fl_float(fl_bits(shifted) << 23);
    const float e = FL_FMA(FL_FMA(r * r, terms, r), scale, scale - 1.0f);
    return x != x ? x : copysignf(e / (2.0f + e), x);
}

//@ fl_sigmoid_f32
static inline float fl_sigmoid_f32(float x) {
    const float small = fl_exp_f32(-fabsf(x));
    return (x < 0 ? small : 1.0f) / (1.0f + small);
}

//@ fl_times_sigmoid
// factor sigmoid(x + rest), where rest is less than the last digit of x.
static inline double fl_times_sigmoid(double factor, double x, double rest) {
    if (x >= 0) return factor / (1 + exp(-x) * (1 - rest));
    if (x < -700) {
        const double half = exp(0.5 * x);
        return factor * half * half;
    }
    const double small = exp(x) * (1 + rest);
    return factor * (small / (1 + small));
}

//@ fl_sigmoid_f64
static inline double fl_sigmoid_f64(double x) { return fl_times_sigmoid(1, x, 0); }

//@ fl_silu_f64
static inline double fl_silu_f64(double x) { return fl_times_sigmoid(x, x, 0); }

//@ fl_silu_f32
static inline float fl_silu_f32(float x) { return x < -115.0f ? -0.0f : x * fl_sigmoid_f32(x); }

//@ fl_mish_f64
static inline double fl_mish_f64(double x) {
    const double small = exp(-fabs(x));
    if (x < -40) return fl_silu_f64(x);
    const double part = x < 0 ? small * (small + 2) : 1 + 2 * small;
    return x * (part / (x < 0 ? part + 2 : part + 2 * small * small));
}

//@ fl_mish_f32
static inline float fl_mish_f32(float x) { return (float)fl_mish_f64((double)x); }

//@ fl_erf_f32
static inline float fl_erf_f32(float x) {
    const float square = x * x, size = fabsf(x), end = size > 3.93f ? 3.93f : size;
    float near = FL_FMA(7.920368e-5f, square, -0.00080307614f);
    near = FL_FMA(near, square, 0.005190734f);
    near = FL_FMA(near, square, -0.026855126f);
    near = FL_FMA(near, square, 0.11283618f);
    near = FL_FMA(near, square, -0.3761263f);
    near = FL_FMA(near, square, 0.12837917f);
    near = FL_FMA(x, near, x);
    float root = FL_FMA(1.5784264e-5f, end, -4.152961e-5f);
    root = FL_FMA(root, end, -0.0014983166f);
    root = FL_FMA(root, end, 0.010248554f);
    root = FL_FMA(root, end, -0.0070435214f);
    root = FL_FMA(root, end, -0.06553902f);
    root = FL_FMA(root, end, -0.14293465f);
    root = FL_FMA(root, end, 1.0003729f);
    const float fourth = root * root * root * root;
    return size < 1.0f ? near : copysignf(FL_FMA(fourth, -fourth, 1.0f), x);
}

//@ fl_gelu_f64
// x Phi(x); below -1 by the product of exp(-x^2 / 2), with an exact square, and a polynomial.
static inline double fl_gelu_f64(double x) {
    static const double terms[22] = {
        1.2530080582697296, -0.13562110612458134, -0.04756229435345058, 0.1296451587027835, -0.11927366341532432,
        0.06830802734307077, -0.023770514918036445, 0.002529391832675186, 0.0018886903466049378,
        -0.0007798324398793133, -0.0001051596522473519, 0.00012510037313823361, 4.9484535339192485e-06,
        -2.0104454851557477e-05, -7.270603109882931e-07, 3.481686983452046e-06, 3.4482536968247793e-07,
        -6.299129103282541e-07, -1.2169240627639653e-07, 1.1177528463195771e-07, 2.292393009921899e-08,
        -1.541055292474667e-08};
    if (!(x < -1)) return 0.5 * x * erfc(-x * 0.70710678118654752);
    const double size = -x;
    if (size > 28 * 1.4142135623730951) return 0.5 * x * 0.0;
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    bits &= ~(uint64_t)0x7ffffff;
    double head, sum = 0;
    memcpy(&head, &bits, sizeof head);
    const double gauss = exp(-head * head * 0.5) * exp((head - size) * (head + size) * 0.5);
    const double t = size * 0.70710678118654752, place = (t - 3) / (t + 3);
    for (int k = 21; k >= 0; k--) sum = sum * place + terms[k];
    return 0.5 * x * gauss * (sum / (1 + 2 * t));
}

//@ fl_gelu_f32
// x Phi(x): x minus, or only, what the tail of the distribution takes away. What roundings lose is carried along.
static inline float fl_gelu_f32(float x) {
    const float size = fabsf(x) > 14.6f ? 14.6f : fabsf(x), below = size + 4.0f, inverse = 1.0f / below;
    const float place = 1.0f - 8.0f * inverse;
    float series = FL_FMA(-0.00013511891f, place, 0.00017111708f);
    series = FL_FMA(series, place, 0.0015655092f);
    series = FL_FMA(series, place, -0.0035088963f);
    series = FL_FMA(series, place, -0.007522148f);
    series = FL_FMA(series, place, 0.060403444f);
    series = FL_FMA(series, place, -0.18652397f);
    series = FL_FMA(series, place, 0.3871369f);
    series = FL_FMA(series, place, -0.60789657f);
    const float tail = FL_FMA(series, place, 0.755285f) + 1.1071843e-7f;
    const float half = -0.5f * size, square = size * half;
    const float rest = (float)((double)size * (double)half - (double)square);
    const float lost = size * inverse * tail * fl_power(square, rest);
    return x != x ? x : x < 0 ? -lost : x - lost;
}

//@ fl_gelu_tanh_f64
// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), with the digits of the argument that one number has no room for.
static inline double fl_gelu_tanh_f64(double x) {
    if (fabs(x) > 40) return x > 0 ? x : x * 0.0;
    const double linear = 1.5957691216057308, cubed = 0.07135481627260025;
    const double square = x * x, square_rest = fma(x, x, -square), cubic = cubed * square;
    const double cubic_rest =
        fma(cubed, square, -cubic) + (cubed * square_rest + -6.175149918155315e-19 * square);
    const double factor = linear + cubic, carried = factor - linear;
    const double factor_rest =
        (linear - (factor - carried)) + (cubic - carried) + -9.96930880911092e-17 + cubic_rest;
    const double argument = x * factor, argument_rest = fma(x, factor, -argument) + x * factor_rest;
    return fl_times_sigmoid(x, argument, argument_rest);
}

//@ fl_gelu_tanh_f32
static inline float fl_gelu_tanh_f32(float x) {
    const float inside = x < -11.5f ? -11.5f : x > 11.5f ? 11.5f : x;
    const double size = fabs((double)inside);
    const double argument = -size * (size * size * 0.07135481627260025 + 1.5957691216057308);
    const float head = (float)argument, small = fl_power(head, (float)(argument - (double)head));
    const float result = inside * ((x < 0 ? small : 1.0f) / (1.0f + small));
    return x > 11.0f ? x : result;
}

//@ fl_tanh_shrink_f64
// x - tanh(x); near zero by the series of x cosh(x) - sinh(x), whose terms are 2k / (2k + 1)!.
static inline double fl_tanh_shrink_f64(double x) {
    if (x == 0 || fabs(x) > 2) return x - tanh(x);
    double sum = 0, term = 1;
    for (int k = 1; k <= 14; k++) {
        const double even = 2 * k;
        term = k == 1 ? 1 / (even * (even + 1)) : term * x * x / (even * (even + 1));
        sum += even * term;
    }
    return x * x * x * sum / cosh(x);
}

//@ fl_tanh_shrink_f32
static inline float fl_tanh_shrink_f32(float x) { return (float)fl_tanh_shrink_f64((double)x); }

//@ fl_polynomial
static inline double fl_polynomial(const double *terms, int count, double x) {
    double sum = 0;
    for (int k = count - 1; k >= 0; k--) sum = sum * x + terms[k];
    return sum;
}

//@ fl_bernoulli
FL_TABLE double fl_bernoulli[13] = {
    1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510, 43867.0 / 798,
    -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730, 8553103.0 / 6};

//@ fl_digamma_f64
static inline double fl_digamma_root(double x) {
    static const double terms[23] = {
        0.9510558760318328, -0.4236274212814606, 0.24054248424078736, -0.14840492305388006, 0.09498872445282817,
        -0.06192213327556183, 0.040760833944741226, -0.02697579665686472, 0.01790724819228875,
        -0.011908220169786002, 0.007927024136843637, -0.0052799364178857415, 0.0035180792717028125,
        -0.0023455016279107115, 0.0015635739915515125, -0.0010364227247828023, 0.0006899428514219089,
        -0.00048606417050412354, 0.00032689316473621455, -0.00014460384609240088, 9.158816882117e-05,
        -0.00017837342400462423, 0.00012241591000024265};
    return ((x - 1.4616321449683622) - 9.549995429965697e-17) * fl_polynomial(terms, 23, x - 1.5);
}
static inline double fl_digamma_positive(double x) {
    double sum = 0;
    if (x < 1) return fl_digamma_root(x + 1) - 1 / x;
    if (x < 12) {
        while (x > 2) {
            x -= 1;
            sum += 1 / x;
        }
        return fl_digamma_root(x) + sum;
    }
    const double inverse = 1 / x, square = inverse * inverse;
    double power = square;
    sum = -0.5 * inverse;
    for (int k = 1; k <= 13; k++) {
        sum -= fl_bernoulli[k - 1] * power / (2 * k);
        power *= square;
    }
    return sum + log(x);
}
static inline double fl_digamma_f64(double x) {
    const double pi = 3.14159265358979324;
    if (x == 0) return copysign((double)INFINITY, -x);
    if (x > 0) return fl_digamma_positive(x);
    const double distance = x - round(x);
    if (distance == 0 || x != x || x < -DBL_MAX) return (double)NAN;
    return fl_digamma_positive(1 - x) - pi / tan(pi * distance);
}

//@ fl_digamma_f32
static inline float fl_digamma_f32(float x) { return (float)fl_digamma_f64((double)x); }

//@ fl_polygamma_f64
// n! / x^(n + 1)
static inline double fl_scaled_power(int n, double x) {
    const double power = pow(x, -((double)n + 1));
    double product = 1;
    if (power >= 1e-290 && power < 1e290) {
        for (int k = 2; k <= n; k++) product *= k;
        return product * power;
    }
    product = 1 / x;
    for (int k = 1; k <= n; k++) product *= k / x;
    return product;
}
// n! times the sum of 1 / (x + k)^(n + 1) over all k >= 0, by Euler and Maclaurin.
static inline double fl_zeta(int n, double x) {
    const double s = n + 1.0;
    double at = x, sum = 0;
    if (x > 1e17) return fl_scaled_power(n - 1, x);
    while (at < 12 + s) {
        const double term = fl_scaled_power(n, at);
        sum += term;
        if (term < sum * 1e-18) return sum;
        at += 1;
    }
    const double power = fl_scaled_power(n, at);
    double tail = 0, factor = s / at;
    for (int k = 1; k <= 13; k++) {
        const double upper = s + (2 * k - 1), even = 2 * k;
        tail += fl_bernoulli[k - 1] * factor / (even * (even - 1));
        factor *= upper * (upper + 1) / (at * at * even * (even - 1));
    }
    return sum + (power * at / (s - 1) + power * 0.5 + power * tail);
}
static inline double fl_polygamma_f64(double n, double x) {
    const double pi = 3.14159265358979324;
    if (n == 0) return fl_digamma_f64(x);
    if (n != floor(n) || !(n >= 1 && n <= 100) || x != x) return (double)NAN;
    const int order = (int)n;
    if (x > 0) return (order % 2 == 1 ? 1 : -1) * fl_zeta(order, x);
    const double distance = x - round(x);
    if (x < -DBL_MAX) return (double)NAN;
    if (distance == 0) return order % 2 == 1 ? (double)INFINITY : (double)NAN;
    double terms[103] = {0, 1}, next[103];
    for (int step = 0; step < order; step++) {
        memset(next, 0, sizeof next);
        for (int k = 1; k <= step + 1; k++) {
            next[k - 1] -= k * terms[k];
            next[k + 1] -= k * terms[k];
        }
        memcpy(terms, next, sizeof terms);
    }
    const double cotangent = 1 / tan(pi * distance);
    return -fl_zeta(order, 1 - x) - fl_polynomial(terms, order + 2, cotangent) * pow(pi, order + 1);
}

//@ fl_polygamma_f32
static inline float fl_polygamma_f32(float n, float x) { return (float)fl_polygamma_f64((double)n, (double)x); }

//@ fl_max_f32
static inline float fl_max_f32(float a, float b) { return a > b || a != a ? a : b; }

//@ fl_max_f64
static inline double fl_max_f64(double a, double b) { return a > b || a != a ? a : b; }

//@ fl_min_f32
static inline float fl_min_f32(float a, float b) { return a < b || a != a ? a : b; }

//@ fl_min_f64
static inline double fl_min_f64(double a, double b) { return a < b || a != a ? a : b; }

//@ fl_fmax_f32
static inline float fl_fmax_f32(float a, float b) { return a > b || b != b ? a : b; }

//@ fl_fmax_f64
static inline double fl_fmax_f64(double a, double b) { return a > b || b != b ? a : b; }

//@ fl_fmin_f32
static inline float fl_fmin_f32(float a, float b) { return a < b || b != b ? a : b; }

//@ fl_fmin_f64
static inline double fl_fmin_f64(double a, double b) { return a < b || b != b ? a : b; }

//@ fl_pow_f32
static inline float fl_pow_f32(float a, float b) { return powf(a, b); }

//@ fl_pow_f64
static inline double fl_pow_f64(double a, double b) { return pow(a, b); }

//@ fl_copy_sign_f32
static inline float fl_copy_sign_f32(float a, float b) { return copysignf(a, b); }

//@ fl_copy_sign_f64
static inline double fl_copy_sign_f64(double a, double b) { return copysign(a, b); }

//@ fl_atan2_f32
static inline float fl_atan2_f32(float a, float b) { return (float)atan2((double)a, (double)b); }

//@ fl_atan2_f64
static inline double fl_atan2_f64(double a, double b) { return atan2(a, b); }

//@ fl_hypot_f32
static inline float fl_hypot_f32(float a, float b) { return (float)hypot((double)a, (double)b); }

//@ fl_hypot_f64
static inline double fl_hypot_f64(double a, double b) { return hypot(a, b); }

//@ fl_rem_f64
static inline double fl_rem_f64(double a, double b) {
    const double rest = fmod(a, b);
    return rest == 0 ? copysign(rest, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}

//@ fl_rem_f32
static inline float fl_rem_f32(float a, float b) {
    const float rest = fmodf(a, b);
    return rest == 0 ? copysignf(rest, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}

//@ fl_floor_div_f32
static inline float fl_floor_div_f32(float a, float b) {
    if (b == 0) return a / b;
    const float rest = fmodf(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return copysignf(0, a / b);
    const float whole = floorf(quotient);
    return quotient - whole > 0.5f ? whole + 1 : whole;
}

//@ fl_floor_div_f64
static inline double fl_floor_div_f64(double a, double b) {
    if (b == 0) return a / b;
    const double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0, a / b);
    const double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

//@ fl_log_add_exp_f64
static inline double fl_log_add_exp_f64(double a, double b) {
    if (a == b) return a + 0.69314718055994531;
    return (a > b ? a : b) + log1p(exp(-fabs(a - b)));
}

//@ fl_log_add_exp_f32
static inline float fl_log_add_exp_f32(float a, float b) { return (float)fl_log_add_exp_f64((double)a, (double)b); }

//@ fl_softplus_f64
// log(1 + exp(x beta)) / beta
static inline double fl_softplus_f64(double x, double beta) {
    const double product = x * beta;
    if (product > 0) return (product + log1p(exp(-product))) / beta;
    const double rest = fabs(product) <= DBL_MAX ? fma(x, beta, -product) : 0;
    return log1p(exp(product) * (1 + rest)) / beta;
}

//@ fl_softplus_f32
static inline float fl_softplus_f32(float x, float beta) { return (float)fl_softplus_f64((double)x, (double)beta); }
