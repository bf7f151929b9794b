// The means of windows; or, if `back`, what they give to the elements. Padding counts, or not; or there is one divisor.
static inline void fl_avg_pool_$t(const $T *from_all, $T *to_all, int64_t planes, const int64_t *n, int64_t counts,
                                  int64_t divisor, int64_t back) {
    const int64_t plane = n[0] * n[1] * n[2];
    FL_EACH(p, planes) {
        int64_t window_at = p * n[6] * n[7] * n[8];
        if (back) memset(to_all + p * plane, 0, sizeof($T) * (size_t)plane);
        for (int64_t i = 0; i < n[6]; i++)
            for (int64_t j = 0; j < n[7]; j++)
                for (int64_t k = 0; k < n[8]; k++, window_at++) {
                    int64_t first[3], from[3], to[3], count = 1;
                    const int64_t window[3] = {i, j, k};
                    for (int axis = 0; axis < 3; axis++) {
                        fl_inside(n, axis, window[axis], &first[axis], &from[axis], &to[axis]);
                        const int64_t rest = n[axis] + n[12 + axis] - first[axis];
                        count *= counts ? (rest < n[3 + axis] ? rest : n[3 + axis]) : to[axis] - from[axis];
                    }
                    if (divisor > 0) count = divisor;
                    double sum = 0;
                    const $T share = back ? from_all[window_at] / ($T)count : 0;
                    for (int64_t a = from[0]; a < to[0]; a++)
                        for (int64_t b = from[1]; b < to[1]; b++)
                            for (int64_t c = from[2]; c < to[2]; c++) {
                                const int64_t at = p * plane + ((first[0] + a) * n[1] + first[1] + b) * n[2] + first[2] + c;
                                if (back) to_all[at] += share;
                                else sum += (double)from_all[at];
                            }
                    if (!back) to_all[window_at] = ($T)(sum / (double)count);
                }
    }
}
