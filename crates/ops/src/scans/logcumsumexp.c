static inline void fl_logcumsumexp_$t(const $T *x, $T *y, int64_t outer, int64_t size, int64_t inner, int64_t back) {
    FL_EACH(i, outer * inner) {
        const int64_t from = i / inner * size * inner + i % inner;
        double sum = -(double)INFINITY;
        for (int64_t j = 0; j < size; j++) {
            const int64_t at = from + (back ? size - 1 - j : j) * inner;
            sum = fl_log_add_exp_f64(sum, (double)x[at]);
            y[at] = ($T)sum;
        }
    }
}
