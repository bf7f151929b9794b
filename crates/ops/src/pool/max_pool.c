static inline void fl_max_pool_$t(const $T *x, $T *y, int64_t *places, int64_t planes, const int64_t *n) {
    for (int64_t p = 0; p < planes; p++, x += n[0] * n[1] * n[2])
        for (int64_t i = 0; i < n[6]; i++)
            for (int64_t j = 0; j < n[7]; j++)
                for (int64_t k = 0; k < n[8]; k++, y++, places++) {
                    int64_t first[3], from[3], to[3], best = -1;
                    fl_inside(n, 0, i, &first[0], &from[0], &to[0]);
                    fl_inside(n, 1, j, &first[1], &from[1], &to[1]);
                    fl_inside(n, 2, k, &first[2], &from[2], &to[2]);
                    $T most = 0;
                    for (int64_t a = from[0]; a < to[0]; a++)
                        for (int64_t b = from[1]; b < to[1]; b++)
                            for (int64_t c = from[2]; c < to[2]; c++) {
                                const int64_t at = ((first[0] + a * n[15]) * n[1] + first[1] + b * n[16]) * n[2] + first[2] +
                                                   c * n[17];
                                if (best < 0 || x[at] > most || (x[at] != x[at] && most == most)) {
                                    most = x[at];
                                    best = at;
                                }
                            }
                    *y = most;
                    *places = best;
                }
}
