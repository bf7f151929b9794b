// Solutions of a x = b, of each in a batch; work has room for the factors of a matrix, their order and one solution.
static inline const char *fl_solve_$t(const $T *a, const $T *b, $T *y, int64_t rank, const int64_t *sizes,
                                      const int64_t *steps_a, const int64_t *steps_b, int64_t n, int64_t k, double *work) {
    double *own = FL_OWN(work, n * n + 2 * n), *x = own + n * n + n;
    int64_t *order = (int64_t *)(own + n * n);
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    FL_EACH(i, count) {
        $T *to = y + i * n * k;
        const $T *matrix = a + fl_batch_$t(i, rank, sizes, steps_a), *right = b + fl_batch_$t(i, rank, sizes, steps_b);
        for (int64_t j = 0; j < n * n; j++) own[j] = (double)matrix[j];
        if (fl_lu_$t(own, order, n) == 0.0) return "a matrix is singular";
        for (int64_t column = 0; column < k; column++) {
            for (int64_t row = 0; row < n; row++) x[row] = (double)right[order[row] * k + column];
            fl_lu_solve_$t(own, n, x);
            for (int64_t row = 0; row < n; row++) to[row * k + column] = ($T)x[row];
        }
    }
    return NULL;
}
