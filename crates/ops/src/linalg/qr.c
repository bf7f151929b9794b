// Orthonormal columns and upper triangles, by reflections; work has room for the matrix, the basis and the reflections.
static inline void fl_qr_$t(const $T *x, $T *q, $T *r, int64_t batch, int64_t m, int64_t n, double *work) {
    const int64_t k = m < n ? m : n;
    double *a = FL_OWN(work, m * n + 2 * m * k), *basis = a + m * n, *mirrors = basis + m * k;
    FL_EACH(b, batch) {
        const $T *from = x + b * m * n;
        $T *to_q = q + b * m * k, *to_r = r + b * k * n;
        for (int64_t i = 0; i < m * n; i++) a[i] = (double)from[i];
        for (int64_t j = 0; j < k; j++) {
            double *mirror = mirrors + j * m, square = 0.0;
            for (int64_t i = 0; i < m; i++) mirror[i] = i < j ? 0.0 : a[i * n + j];
            for (int64_t i = j; i < m; i++) square += mirror[i] * mirror[i];
            mirror[j] += copysign(sqrt(square), mirror[j]);
            fl_mirror_$t(mirror, m, a, n, j);
        }
        for (int64_t i = 0; i < m * k; i++) basis[i] = i / k == i % k;
        for (int64_t j = k - 1; j >= 0; j--) fl_mirror_$t(mirrors + j * m, m, basis, k, j);
        for (int64_t j = 0; j < k; j++) {
            const double sign = a[j * n + j] < 0.0 ? -1.0 : 1.0;
            for (int64_t i = 0; i < m; i++) to_q[i * k + j] = ($T)(basis[i * k + j] * sign);
            for (int64_t i = 0; i < n; i++) to_r[j * n + i] = i < j ? 0 : ($T)(a[j * n + i] * sign);
        }
    }
}
