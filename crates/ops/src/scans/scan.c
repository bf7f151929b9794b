#ifndef FL_WIDE
#define FL_WIDE
#define FL_WIDE_f32 double
#define FL_WIDE_f64 double
#define FL_WIDE_i64 uint64_t
#define FL_WIDE_i32 uint32_t
#define FL_WIDE_i8 uint32_t
#define FL_WIDE_u8 uint32_t
#endif
// Running sums (0) or products (1) along an axis.
static inline void fl_scan_$t(const $T *x, $T *y, int64_t outer, int64_t size, int64_t inner, int64_t product, int64_t back) {
    FL_EACH(i, outer * inner) {
        const int64_t from = i / inner * size * inner + i % inner;
        FL_WIDE_$t sum = product ? 1 : 0;
        for (int64_t j = 0; j < size; j++) {
            const int64_t at = from + (back ? size - 1 - j : j) * inner;
            sum = product ? sum * (FL_WIDE_$t)x[at] : sum + (FL_WIDE_$t)x[at];
            y[at] = ($T)sum;
        }
    }
}
