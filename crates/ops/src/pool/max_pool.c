#ifndef FL_LEAST
#define FL_LEAST
#define FL_LEAST_f32 (-INFINITY)
#define FL_LEAST_f64 (-(double)INFINITY)
#define FL_LEAST_i64 INT64_MIN
#define FL_LEAST_i32 INT32_MIN
#define FL_LEAST_i8 INT8_MIN
#define FL_LEAST_u8 0
#define FL_LEAST_bool 0
#endif
// The greatest elements of windows, with their places; of a window without elements the least there is, and -1.
static inline void fl_max_pool_$t(const $T *x, $T *y, int64_t *places, int64_t planes, const int64_t *n) {
    const int64_t plane = n[0] * n[1] * n[2];
    FL_EACH(p, planes * n[6]) {
        const $T *of = x + p / n[6] * plane;
        int64_t window = p * n[7] * n[8];
        for (int64_t j = 0; j < n[7]; j++)
            for (int64_t k = 0; k < n[8]; k++, window++) {
                int64_t first[3], from[3], to[3], best = -1;
                fl_inside(n, 0, p % n[6], &first[0], &from[0], &to[0]);
                fl_inside(n, 1, j, &first[1], &from[1], &to[1]);
                fl_inside(n, 2, k, &first[2], &from[2], &to[2]);
                $T most = FL_LEAST_$t;
                for (int64_t a = from[0]; a < to[0]; a++)
                    for (int64_t b = from[1]; b < to[1]; b++)
                        for (int64_t c = from[2]; c < to[2]; c++) {
                            const int64_t at = ((first[0] + a * n[15]) * n[1] + first[1] + b * n[16]) * n[2] + first[2] +
                                               c * n[17];
                            if (best < 0 || of[at] > most || (of[at] != of[at] && most == most)) {
                                most = of[at];
                                best = at;
                            }
                        }
                y[window] = most;
                places[window] = best;
            }
    }
}
