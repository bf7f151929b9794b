static inline void fl_copy_$t(const $T *x, $T *y, int64_t count) {
    FL_COPY_LANES(y, x, 1, count);
}
