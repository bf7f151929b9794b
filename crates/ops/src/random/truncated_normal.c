// The number below which a normal one lies with a probability: Wichura's rational functions.
static inline double fl_rational_$t(const double *above, const double *below, double x) {
    double a = 0, b = 0;
    for (int k = 7; k >= 0; k--) {
        a = a * x + above[k];
        b = b * x + below[k];
    }
    return a / b;
}
static inline double fl_quantile_$t(double p) {
    static const double central[2][8] = {
        {3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
         67265.7709270087, 33430.57558358813, 2509.0809287301227},
        {1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
         28729.085735721943, 5226.495278852854}};
    static const double tail[2][8] = {
        {1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
         0.2417807251774506, 0.022723844989269184, 7.745450142783414e-4},
        {1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
         5.475938084995345e-4, 1.0507500716444169e-9}};
    static const double far[2][8] = {
        {6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
         0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7},
        {1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 7.868691311456133e-4, 1.8463183175100548e-5,
         1.421511758316446e-7, 2.0442631033899398e-15}};
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) return q * fl_rational_$t(central[0], central[1], 0.180625 - q * q);
    const double r = sqrt(-log(p < 1 - p ? p : 1 - p));
    const double size = r <= 5 ? fl_rational_$t(tail[0], tail[1], r - 1.6)
                        : r > DBL_MAX ? r
                                      : fl_rational_$t(far[0], far[1], r - 5);
    return copysign(size, q);
}
static inline void fl_truncated_normal_$t(const int64_t *stream, $T *y, int64_t count, double mean, double std, double low,
                                          double high) {
    const double start = (low - mean) / std, end = (high - mean) / std;
    const double sign = start > 0 ? -1 : 1, a = start > 0 ? -end : start, b = start > 0 ? -start : end;
    const double below = 0.5 * erfc(-a * 0.70710678118654752), width = 0.5 * erfc(-b * 0.70710678118654752) - below;
    FL_EACH(i, count) {
        double value = fl_quantile_$t(below + fl_unit(stream, i) * width);
        value = value < a ? a : value > b ? b : value;
        value = mean + std * sign * value;
        y[i] = ($T)(value < low ? low : value > high ? high : value);
    }
}
