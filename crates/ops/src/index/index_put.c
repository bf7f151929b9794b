static inline const char *fl_index_put_$t(const $T *x, const int64_t *index, const $T *updates, $T *y, int64_t outer,
                                          int64_t size, int64_t inner, int64_t count) {
    for (int64_t j = 0; j < count; j++) {
        if (index[j] < -size || index[j] >= size) return "a position is out of range";
    }
    if (x != y) FL_COPY_LANES(y, x, outer * size, inner);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = index[j] < 0 ? index[j] + size : index[j];
            FL_COPY_LANES(y + (i * size + at) * inner, updates + (i * count + j) * inner, 1, inner);
        }
    }
    return NULL;
}
