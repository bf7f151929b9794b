static inline void fl_gru_update_$t(const $T *input, const $T *recurrent, const $T *h, $T *next, int64_t rows, int64_t hidden) {
    for (int64_t i = 0; i < rows; i++) {
        const $T *a = input + 3 * i * hidden, *b = recurrent + 3 * i * hidden;
        FL_IVDEP
        FL_EACH(j, hidden) {
            const $T reset = fl_sigmoid_$t(a[j] + b[j]), update = fl_sigmoid_$t(a[hidden + j] + b[hidden + j]);
            const $T fresh = fl_tanh_$t(a[2 * hidden + j] + reset * b[2 * hidden + j]);
            next[i * hidden + j] = fresh + update * (h[i * hidden + j] - fresh);
        }
    }
}
