// Combines slices: 0 by products, 1 by the larger, 2 by the smaller one, NaN if either is.
static inline const char *fl_index_reduce_$t(const $T *x, const int64_t *index, const $T *updates, $T *y, int64_t kind,
                                             int64_t outer, int64_t size, int64_t inner, int64_t count) {
    for (int64_t j = 0; j < count; j++) {
        if (index[j] < -size || index[j] >= size) return "a position is out of range";
    }
    if (x != y) FL_COPY_LANES(y, x, outer * size, inner);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = index[j] < 0 ? index[j] + size : index[j];
            FL_EACH(k, inner) {
                const $T a = y[(i * size + at) * inner + k], b = updates[(i * count + j) * inner + k];
                const int first = a != a || (b == b && (kind == 1 ? a >= b : a <= b));
                y[(i * size + at) * inner + k] = kind == 0 ? ($T)(a * b) : first ? a : b;
            }
        }
    }
    return NULL;
}
