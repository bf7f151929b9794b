static inline const char *fl_gather_$t(const $T *x, const int64_t *index, $T *y, int64_t outer, int64_t size, int64_t inner,
                                       int64_t count) {
    for (int64_t i = 0; i < outer; i++) {
        FL_EACH(j, count) {
            if (index[j] < -size || index[j] >= size) return "a position is out of range";
            const int64_t at = index[j] < 0 ? index[j] + size : index[j];
            memcpy(y + (i * count + j) * inner, x + (i * size + at) * inner, sizeof($T) * (size_t)inner);
        }
    }
    return NULL;
}
