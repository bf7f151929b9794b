// Determinants; work has room for the factors of a matrix and their order.
static inline void fl_det_$t(const $T *a, $T *y, int64_t batch, int64_t n, double *all_work) {
    FL_EACH(b, batch) {
        const $T *matrix = a + b * n * n;
        double *work = FL_OWN(all_work, n * n + n);
        for (int64_t i = 0; i < n * n; i++) work[i] = (double)matrix[i];
        double product = fl_lu_$t(work, (int64_t *)(work + n * n), n);
        if (product != 0.0) {
            for (int64_t i = 0; i < n; i++) product *= work[i * n + i];
        }
        y[b] = ($T)product;
    }
}
