static inline void fl_copy_$t(const $T *x, $T *y, int64_t count) {
    memcpy(y, x, sizeof($T) * (size_t)count);
}
