// The first position of the greatest element, or of the smallest; of the first NaN, if there is one.
static inline void fl_arg_$t(const $T *x, int64_t *y, int64_t outer, int64_t size, int64_t inner, int64_t greatest) {
    FL_EACH(i, outer * inner) {
        const $T *at = x + i / inner * size * inner + i % inner;
        int64_t best = 0;
        for (int64_t j = 1; j < size; j++) {
            const $T a = at[best * inner], b = at[j * inner];
            if (a == a && (b != b || (greatest ? b > a : b < a))) best = j;
        }
        y[i] = best;
    }
}
