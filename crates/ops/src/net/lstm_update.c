static inline void fl_lstm_update_$t(const $T *gates, const $T *c, $T *h, $T *next, int64_t rows, int64_t hidden) {
    for (int64_t i = 0; i < rows; i++) {
        const $T *g = gates + 4 * i * hidden;
        FL_IVDEP
        FL_EACH(j, hidden) {
            const $T kept = fl_sigmoid_$t(g[hidden + j]) * c[i * hidden + j];
            const $T cell = kept + fl_sigmoid_$t(g[j]) * fl_tanh_$t(g[2 * hidden + j]);
            next[i * hidden + j] = cell;
            h[i * hidden + j] = fl_sigmoid_$t(g[3 * hidden + j]) * fl_tanh_$t(cell);
        }
    }
}
