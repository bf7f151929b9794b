static inline void fl_adam_update_$t(const $T *w, const $T *m, const $T *v, const $T *top, const $T *g, $T *to_w, $T *to_m, $T *to_v,
                                     $T *to_top, const $T *lr, const $T *c1, const $T *c2, int64_t count, double beta1,
                                     double beta2, double eps, double decay, int64_t decoupled) {
    const $T rate = lr[0] / c1[0], root = c2[0], small = ($T)eps, stays1 = ($T)beta1, stays2 = ($T)beta2;
    const $T news1 = ($T)(1 - beta1), news2 = ($T)(1 - beta2);
    const $T coupled = decoupled ? 0 : ($T)decay, keep = decoupled ? 1 - lr[0] * ($T)decay : 1;
    FL_IVDEP
    FL_EACH(i, count) {
        const $T grad = g[i] + w[i] * coupled;
        const $T mean = m[i] * stays1 + grad * news1, square = v[i] * stays2 + grad * grad * news2;
        const $T divisor = top ? fl_max_$t(top[i], square) : square;
        to_m[i] = mean;
        to_v[i] = square;
        if (top) to_top[i] = divisor;
        to_w[i] = w[i] * keep - rate * (mean / (fl_sqrt_$t(divisor) / root + small));
    }
}
