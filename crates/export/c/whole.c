//@ fl_abs_$t
static inline $T fl_abs_$t($T x) { return x < 0 ? ($T)($V)(0 - ($V)x) : x; }
//@ fl_sign_$t
static inline $T fl_sign_$t($T x) { return ($T)((x > 0) - (x < 0)); }
//@ fl_max_$t
static inline $T fl_max_$t($T a, $T b) { return a > b ? a : b; }
//@ fl_min_$t
static inline $T fl_min_$t($T a, $T b) { return a < b ? a : b; }
//@ fl_div_$t
static inline $T fl_div_$t($T a, $T b) {
    if (b == 0) return 0;
    if (b == ($T)-1) return ($T)($V)(0 - ($V)a) == 0 || ($T)-1 < 0 ? ($T)($V)(0 - ($V)a) : ($T)(a / b);
    return ($T)(a / b);
}
//@ fl_rem_$t
static inline $T fl_rem_$t($T a, $T b) {
    if (b == 0) return 0;
    if (($T)-1 < 0 && b == ($T)-1) return 0;
    $T rest = ($T)(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? ($T)(rest + b) : rest;
}
//@ fl_floor_div_$t
static inline $T fl_floor_div_$t($T a, $T b) {
    if (b == 0) return 0;
    if (($T)-1 < 0 && b == ($T)-1) return ($T)($V)(0 - ($V)a);
    $T rest = ($T)(a % b), quotient = ($T)(a / b);
    return rest != 0 && (rest < 0) != (b < 0) ? ($T)(quotient - 1) : quotient;
}
//@ fl_pow_$t
static inline $T fl_pow_$t($T base, $T power) {
    uint64_t bits = power < 0 ? 0 - (uint64_t)power : (uint64_t)power;
    uint64_t square = (uint64_t)base, result = 1;
    while (bits != 0) {
        if (bits & 1) result *= square;
        square *= square;
        bits >>= 1;
    }
    int unit = base == 1 || base == ($T)-1;
    return power >= 0 || unit ? ($T)result : 0;
}
//@ fl_shl_$t
static inline $T fl_shl_$t($T a, $T b) {
    return (uint64_t)b < $BITS ? ($T)(($V)a << b) : 0;
}
//@ fl_shr_$t
static inline $T fl_shr_$t($T a, $T b) {
    return (uint64_t)b < $BITS ? ($T)(a >> b) : ($T)(a < 0 ? -1 : 0);
}
//@ fl_$t_of_float
static inline $T fl_$t_of_float(double x) {
    const double low = ($T)-1 < 0 ? -0x1p$BITS / 2 : 0, end = ($T)-1 < 0 ? 0x1p$BITS / 2 : 0x1p$BITS;
    if (!(x == x)) return 0;
    if (x <= low) return ($T)-1 < 0 ? ($T)(($V)1 << ($BITS - 1)) : 0;
    if (x >= end) return ($T)-1 < 0 ? ($T)((($V)1 << ($BITS - 1)) - 1) : ($T)($V)-1;
    return ($T)x;
}
