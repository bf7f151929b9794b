static inline void fl_momentum_update_$t(const $T *w, const $T *v, const $T *g, $T *to_w, $T *to_v, const $T *lr, const $T *part,
                                         int64_t count, double momentum, int64_t nesterov, double decay, int64_t decoupled) {
    const $T stays = ($T)momentum, rate = lr[0], share = part[0];
    const $T coupled = decoupled ? 0 : ($T)decay, keep = decoupled ? 1 - lr[0] * ($T)decay : 1;
    FL_IVDEP
    FL_EACH(i, count) {
        const $T grad = g[i] + w[i] * coupled, velocity = v[i] * stays + grad * share;
        to_v[i] = velocity;
        to_w[i] = w[i] * keep - rate * (nesterov ? grad + velocity * stays : velocity);
    }
}
