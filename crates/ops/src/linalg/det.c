// Determinants; work has room for the factors of a matrix and their order.
static inline void fl_det_$t(const $T *a, $T *y, int64_t batch, int64_t n, double *work) {
    for (int64_t b = 0; b < batch; b++, a += n * n) {
        for (int64_t i = 0; i < n * n; i++) work[i] = (double)a[i];
        double product = fl_lu_$t(work, (int64_t *)(work + n * n), n);
        if (product != 0.0) {
            for (int64_t i = 0; i < n; i++) product *= work[i * n + i];
        }
        y[b] = ($T)product;
    }
}
