static inline void fl_gru_update_grad_$t(const $T *dnext, const $T *input, const $T *recurrent, const $T *h, $T *dinput,
                                         $T *drecurrent, $T *dh, int64_t rows, int64_t hidden) {
    for (int64_t i = 0; i < rows; i++) {
        const $T *a = input + 3 * i * hidden, *b = recurrent + 3 * i * hidden;
        $T *da = dinput + 3 * i * hidden, *db = drecurrent + 3 * i * hidden;
        FL_IVDEP
        FL_EACH(j, hidden) {
            const int64_t at = i * hidden + j;
            const $T reset = fl_sigmoid_$t(a[j] + b[j]), update = fl_sigmoid_$t(a[hidden + j] + b[hidden + j]);
            const $T share = b[2 * hidden + j], fresh = fl_tanh_$t(a[2 * hidden + j] + reset * share);
            const $T by_new = dnext[at] * (1 - update) * (1 - fresh * fresh);
            const $T by_reset = by_new * share * reset * (1 - reset);
            const $T by_update = dnext[at] * (h[at] - fresh) * update * (1 - update);
            da[j] = db[j] = by_reset;
            da[hidden + j] = db[hidden + j] = by_update;
            da[2 * hidden + j] = by_new;
            db[2 * hidden + j] = by_new * reset;
            dh[at] = dnext[at] * update;
        }
    }
}
