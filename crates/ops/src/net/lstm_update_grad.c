static inline void fl_lstm_update_grad_$t(const $T *dh, const $T *dnext, const $T *gates, const $T *c, $T *dgates, $T *dc,
                                          int64_t rows, int64_t hidden) {
    for (int64_t i = 0; i < rows; i++) {
        const $T *g = gates + 4 * i * hidden;
        $T *d = dgates + 4 * i * hidden;
        FL_IVDEP
        FL_EACH(j, hidden) {
            const int64_t at = i * hidden + j;
            const $T in = fl_sigmoid_$t(g[j]), keep = fl_sigmoid_$t(g[hidden + j]);
            const $T fresh = fl_tanh_$t(g[2 * hidden + j]), out = fl_sigmoid_$t(g[3 * hidden + j]);
            const $T shown = fl_tanh_$t(keep * c[at] + in * fresh);
            const $T total = dnext[at] + dh[at] * out * (1 - shown * shown);
            d[j] = total * fresh * in * (1 - in);
            d[hidden + j] = total * c[at] * keep * (1 - keep);
            d[2 * hidden + j] = total * in * (1 - fresh * fresh);
            d[3 * hidden + j] = dh[at] * shown * out * (1 - out);
            dc[at] = total * keep;
        }
    }
}
