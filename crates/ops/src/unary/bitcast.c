static inline void fl_bitcast_$t_$u(const $T *x, $U *y, int64_t count) {
    memcpy(y, x, sizeof($T) * (size_t)count);
}
