// Reflects the columns of a matrix from one on.
static inline void fl_mirror_$t(const double *mirror, int64_t m, double *a, int64_t n, int64_t first) {
    double square = 0.0;
    for (int64_t i = 0; i < m; i++) square += mirror[i] * mirror[i];
    for (int64_t j = first; j < n && square > 0.0; j++) {
        double along = 0.0;
        for (int64_t i = 0; i < m; i++) along += mirror[i] * a[i * n + j];
        for (int64_t i = 0; i < m; i++) a[i * n + j] -= 2.0 * along / square * mirror[i];
    }
}
