static inline void fl_softmax_$t(const $T *x, $T *y, int64_t outer, int64_t size, int64_t inner) {
    FL_EACH(i, outer * inner) {
        const int64_t at = i / inner * size * inner + i % inner;
        $T most = -INFINITY;
        for (int64_t j = 0; j < size; j++) most = fl_max_$t(most, x[at + j * inner]);
        $T sum = 0;
        if (inner == 1) {
            FL_IVDEP
            for (int64_t j = 0; j < size; j++) y[at + j] = fl_exp_$t(x[at + j] - most);
            FL_SUM(sum)
            for (int64_t j = 0; j < size; j++) sum += y[at + j];
        } else {
            for (int64_t j = 0; j < size; j++) {
                y[at + j * inner] = fl_exp_$t(x[at + j * inner] - most);
                sum += y[at + j * inner];
            }
        }
        for (int64_t j = 0; j < size; j++) y[at + j * inner] /= sum;
    }
}
