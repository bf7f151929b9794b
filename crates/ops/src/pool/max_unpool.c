static inline const char *fl_max_unpool_$t(const $T *x, const int64_t *places, $T *y, int64_t planes, int64_t size, int64_t count) {
    FL_EACH(p, planes) {
        $T *plane = y + p * size;
        memset(plane, 0, sizeof($T) * (size_t)size);
        for (int64_t i = p * count; i < (p + 1) * count; i++) {
            if (places[i] < -1 || places[i] >= size) return "a position is out of range";
            if (places[i] >= 0) plane[places[i]] = ($T)(plane[places[i]] + x[i]);
        }
    }
    return NULL;
}
