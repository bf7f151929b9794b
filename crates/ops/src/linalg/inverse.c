// Inverses; that of a singular matrix is NaN, or a fault. work has room for the factors, their order and one column.
static inline const char *fl_inverse_$t(const $T *a, $T *y, int64_t batch, int64_t n, int64_t singular, double *work) {
    double *own = FL_OWN(work, n * n + 2 * n), *x = own + n * n + n;
    int64_t *order = (int64_t *)(own + n * n);
    FL_EACH(b, batch) {
        const $T *from = a + b * n * n;
        $T *to = y + b * n * n;
        for (int64_t i = 0; i < n * n; i++) own[i] = (double)from[i];
        if (fl_lu_$t(own, order, n) == 0.0) {
            if (!singular) return "a matrix is singular";
            for (int64_t i = 0; i < n * n; i++) to[i] = ($T)NAN;
            continue;
        }
        for (int64_t column = 0; column < n; column++) {
            for (int64_t row = 0; row < n; row++) x[row] = order[row] == column;
            fl_lu_solve_$t(own, n, x);
            for (int64_t row = 0; row < n; row++) to[row * n + column] = ($T)x[row];
        }
    }
    return NULL;
}
