static inline void fl_bitcast_$t_$u(const $T *x, $U *y, int64_t count) {
    FL_COPY_LANES((unsigned char *)y, (const unsigned char *)x, 1, (int64_t)sizeof($T) * count);
}
