// A power of two of the size of the greatest element, so that squares neither overflow nor vanish; NaN if one is not finite.
static inline double fl_scale_$t(const $T *a, int64_t count) {
    double greatest = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite((double)a[i])) return NAN;
        greatest = fmax(greatest, fabs((double)a[i]));
    }
    return greatest > 0.0 ? exp2(fmin(fmax(floor(log2(greatest)), -1000.0), 1000.0)) : 1.0;
}

// The sign of the first of these elements that is nearly the greatest.
static inline double fl_leading_sign_$t(const double *a, int64_t count, int64_t step) {
    double greatest = 0.0;
    for (int64_t i = 0; i < count; i++) greatest = fmax(greatest, fabs(a[i * step]));
    for (int64_t i = 0; i < count; i++) {
        if (fabs(a[i * step]) >= 0.9 * greatest) return a[i * step] < 0.0 ? -1.0 : 1.0;
    }
    return 1.0;
}
