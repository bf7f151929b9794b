// The lower factors of the symmetric parts of matrices; work has room for one.
static inline const char *fl_cholesky_$t(const $T *x, $T *y, int64_t batch, int64_t n, double *work) {
    double *l = FL_OWN(work, n * n);
    FL_EACH(b, batch) {
        const $T *from = x + b * n * n;
        $T *to = y + b * n * n;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                double rest = 0.5 * (double)from[i * n + j] + 0.5 * (double)from[j * n + i];
                for (int64_t k = 0; k < j; k++) rest -= l[i * n + k] * l[j * n + k];
                if (j < i) l[i * n + j] = rest / l[j * n + j];
                else if (rest > 0.0) l[i * n + i] = sqrt(rest);
                else return "a matrix is not positive definite";
            }
            for (int64_t j = i + 1; j < n; j++) l[i * n + j] = 0.0;
        }
        for (int64_t i = 0; i < n * n; i++) to[i] = ($T)l[i];
    }
    return NULL;
}
