// Whether a stands before b; NaN is the greatest.
static inline int fl_before_$t($T a, $T b, int descending) {
    if (a != a || b != b) return descending ? a != a && b == b : a == a && b != b;
    return descending ? a > b : a < b;
}
// The first positions that put the elements along an axis in order, by merging; equal ones keep their order.
static inline void fl_argsort_$t(const $T *x, int64_t *y, int64_t *work, int64_t outer, int64_t size, int64_t inner,
                                 int64_t wanted, int64_t descending) {
    FL_EACH(i, outer * inner) {
        const $T *at = x + i / inner * size * inner + i % inner;
        int64_t *from = FL_OWN(work, 2 * size), *to = from + size;
        for (int64_t j = 0; j < size; j++) from[j] = j;
        for (int64_t width = 1; width < size; width *= 2) {
            for (int64_t start = 0; start < size; start += 2 * width) {
                const int64_t middle = start + width < size ? start + width : size;
                const int64_t end = start + 2 * width < size ? start + 2 * width : size;
                int64_t a = start, b = middle;
                for (int64_t k = start; k < end; k++) {
                    const int second = a >= middle || (b < end && fl_before_$t(at[from[b] * inner], at[from[a] * inner],
                                                                               (int)descending));
                    to[k] = second ? from[b++] : from[a++];
                }
            }
            int64_t *other = from;
            from = to;
            to = other;
        }
        for (int64_t j = 0; j < wanted; j++) y[(i / inner * wanted + j) * inner + i % inner] = from[j];
    }
}
