// Solutions of a x = b for triangular matrices, of each in a batch; work has room for one column.
static inline const char *fl_triangular_solve_$t(const $T *a, const $T *b, $T *y, int64_t rank, const int64_t *sizes,
                                                 const int64_t *steps_a, const int64_t *steps_b, int64_t n, int64_t k,
                                                 int64_t upper, int64_t transposed, int64_t unit, int64_t singular,
                                                 double *work) {
    double *x = FL_OWN(work, n);
    const int64_t down = transposed ? 1 : n, right = transposed ? n : 1, last = upper != transposed;
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    FL_EACH(i, count) {
        $T *to = y + i * n * k;
        const $T *matrix = a + fl_batch_$t(i, rank, sizes, steps_a), *given = b + fl_batch_$t(i, rank, sizes, steps_b);
        for (int64_t j = 0; j < n && !unit && !singular; j++) {
            if (matrix[j * n + j] == 0) return "a matrix has a zero on its diagonal";
        }
        for (int64_t column = 0; column < k; column++) {
            for (int64_t step = 0; step < n; step++) {
                const int64_t row = last ? n - 1 - step : step;
                double rest = (double)given[row * k + column];
                for (int64_t before = 0; before < step; before++) {
                    const int64_t j = last ? n - 1 - before : before;
                    rest -= (double)matrix[row * down + j * right] * x[j];
                }
                x[row] = unit ? rest : rest / (double)matrix[row * n + row];
            }
            for (int64_t row = 0; row < n; row++) to[row * k + column] = ($T)x[row];
        }
    }
    return NULL;
}
