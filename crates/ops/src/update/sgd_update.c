static inline void fl_sgd_update_$t(const $T *w, const $T *g, $T *to, const $T *lr, int64_t count, double decay, int64_t decoupled) {
    const $T rate = lr[0], coupled = decoupled ? 0 : ($T)decay, keep = decoupled ? 1 - lr[0] * ($T)decay : 1;
    FL_IVDEP
    FL_EACH(i, count) to[i] = w[i] * keep - rate * (g[i] + w[i] * coupled);
}
