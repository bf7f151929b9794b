static inline const char *fl_max_unpool_$t(const $T *x, const int64_t *places, $T *y, int64_t planes, int64_t size, int64_t count) {
    memset(y, 0, sizeof($T) * (size_t)(planes * size));
    for (int64_t i = 0; i < planes * count; i++) {
        if (places[i] < -1 || places[i] >= size) return "a position is out of range";
        if (places[i] >= 0) y[i / count * size + places[i]] = ($T)(y[i / count * size + places[i]] + x[i]);
    }
    return NULL;
}
