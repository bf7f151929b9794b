// The position of the greatest, or smallest, element so far: the last of equal ones; NaN stays.
static inline void fl_cummax_$t(const $T *x, int64_t *y, int64_t outer, int64_t size, int64_t inner, int64_t greatest) {
    FL_EACH(i, outer * inner) {
        const int64_t from = i / inner * size * inner + i % inner;
        int64_t best = 0;
        for (int64_t j = 0; j < size; j++) {
            const $T a = x[from + best * inner], b = x[from + j * inner];
            if (b != b || (a == a && (greatest ? b >= a : b <= a))) best = j;
            y[from + j * inner] = best;
        }
    }
}
