static inline const char *fl_index_add_$t(const $T *updates, const int64_t *index, $T *y, int64_t outer, int64_t size,
                                          int64_t inner, int64_t count) {
    for (int64_t j = 0; j < count; j++) {
        if (index[j] < -size || index[j] >= size) return "a position is out of range";
    }
    FL_CLEAR_LANES(y, outer * size, inner);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = index[j] < 0 ? index[j] + size : index[j];
            $T *to = y + (i * size + at) * inner;
            const $T *from = updates + (i * count + j) * inner;
            FL_EACH(k, inner) to[k] = ($T)(to[k] + from[k]);
        }
    }
    return NULL;
}
