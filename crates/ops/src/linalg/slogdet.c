// Signs of determinants and logarithms of their amounts; work has room for the factors of a matrix and their order.
static inline void fl_slogdet_$t(const $T *a, $T *sign, $T *log_det, int64_t batch, int64_t n, double *all_work) {
    FL_EACH(b, batch) {
        const $T *matrix = a + b * n * n;
        double *work = FL_OWN(all_work, n * n + n);
        for (int64_t i = 0; i < n * n; i++) work[i] = (double)matrix[i];
        double all = fl_lu_$t(work, (int64_t *)(work + n * n), n), sum = all == 0.0 ? -INFINITY : 0.0;
        if (all != 0.0) {
            for (int64_t i = 0; i < n; i++) {
                const double pivot = work[i * n + i];
                all = isnan(pivot) ? pivot : copysign(1.0, pivot) * all;
                sum += log(fabs(pivot));
            }
        }
        sign[b] = ($T)all;
        log_det[b] = ($T)sum;
    }
}
