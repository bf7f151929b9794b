static inline void fl_logsumexp_$t(const $T *x, $T *y, int64_t outer, int64_t size, int64_t inner) {
    FL_EACH(i, outer * inner) {
        const int64_t at = i / inner * size * inner + i % inner;
        $T most = -INFINITY;
        for (int64_t j = 0; j < size; j++) most = fl_max_$t(most, x[at + j * inner]);
        double sum = 0;
        const $T level = most > -INFINITY && most < INFINITY ? most : most != most ? most : 0;
        for (int64_t j = 0; j < size; j++) sum += (double)fl_exp_$t(x[at + j * inner] - level);
        y[i] = ($T)(log(sum) + (double)level);
    }
}
