// Inverses; that of a singular matrix is NaN, or a fault. work has room for the factors, their order and one column.
static inline const char *fl_inverse_$t(const $T *a, $T *y, int64_t batch, int64_t n, int64_t singular, double *work) {
    int64_t *order = (int64_t *)(work + n * n);
    double *x = work + n * n + n;
    for (int64_t b = 0; b < batch; b++, a += n * n, y += n * n) {
        for (int64_t i = 0; i < n * n; i++) work[i] = (double)a[i];
        if (fl_lu_$t(work, order, n) == 0.0) {
            if (!singular) return "a matrix is singular";
            for (int64_t i = 0; i < n * n; i++) y[i] = ($T)NAN;
            continue;
        }
        for (int64_t column = 0; column < n; column++) {
            for (int64_t row = 0; row < n; row++) x[row] = order[row] == column;
            fl_lu_solve_$t(work, n, x);
            for (int64_t row = 0; row < n; row++) y[row * n + column] = ($T)x[row];
        }
    }
    return NULL;
}
