static inline void fl_linear_scan_$t(const $T *a, const $T *b, $T *y, int64_t outer, int64_t size, int64_t inner, int64_t back) {
    FL_EACH(i, outer * inner) {
        const int64_t from = i / inner * size * inner + i % inner;
        double h = 0;
        for (int64_t j = 0; j < size; j++) {
            const int64_t at = from + (back ? size - 1 - j : j) * inner;
            h = j == 0 ? (double)b[at] : (double)a[at] * h + (double)b[at];
            y[at] = ($T)h;
        }
    }
}
