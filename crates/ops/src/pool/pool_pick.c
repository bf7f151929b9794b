static inline const char *fl_pool_pick_$t(const $T *x, const int64_t *places, $T *y, int64_t planes, int64_t size, int64_t count) {
    FL_EACH(i, planes * count) {
        if (places[i] < -1 || places[i] >= size) return "a position is out of range";
        y[i] = places[i] < 0 ? 0 : x[i / count * size + places[i]];
    }
    return NULL;
}
