static inline const char *fl_along_index(const int64_t *index, int64_t *y, int64_t outer, int64_t own, int64_t inner,
                                         int64_t size) {
    for (int64_t i = 0; i < outer; i++) {
        FL_EACH(j, own * inner) {
            const int64_t wanted = index[i * own * inner + j];
            if (wanted < -size || wanted >= size) return "a position is out of range";
            y[i * own * inner + j] = (i * size + (wanted < 0 ? wanted + size : wanted)) * inner + j % inner;
        }
    }
    return NULL;
}
