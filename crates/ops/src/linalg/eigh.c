// Eigenvalues of the symmetric parts, from the least on, and vectors, by rotations; work has room for two matrices.
static inline const char *fl_eigh_$t(const $T *x, $T *w, $T *v, int64_t batch, int64_t n, double *work) {
    double *a = FL_OWN(work, 2 * n * n), *vectors = a + n * n;
    FL_EACH(b, batch) {
        const $T *from = x + b * n * n;
        $T *to_w = w + b * n, *to_v = v + b * n * n;
        const double scale = fl_scale_$t(from, n * n);
        if (isnan(scale)) return "a matrix has an element that is not finite";
        for (int64_t i = 0; i < n * n; i++) {
            a[i] = (0.5 * (double)from[i] + 0.5 * (double)from[i % n * n + i / n]) / scale;
            vectors[i] = i / n == i % n;
        }
        for (int64_t sweep = 0;; sweep++) {
            double beside = 0.0, all = 0.0;
            for (int64_t i = 0; i < n * n; i++) {
                all += a[i] * a[i];
                if (i / n != i % n) beside += a[i] * a[i];
            }
            if (beside <= 1e-34 * all) break;
            if (sweep == 60) return "the iteration for eigenvalues did not settle";
            for (int64_t p = 0; p < n; p++) {
                for (int64_t q = p + 1; q < n; q++) {
                    const double corner = a[p * n + q];
                    if (corner == 0.0) continue;
                    const double ratio = (a[q * n + q] - a[p * n + p]) / (2.0 * corner);
                    const double t = copysign(1.0, ratio) / (fabs(ratio) + sqrt(ratio * ratio + 1.0));
                    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                    for (int64_t i = 0; i < n; i++) {
                        const double left = a[i * n + p], right = a[i * n + q];
                        a[i * n + p] = c * left - s * right;
                        a[i * n + q] = s * left + c * right;
                    }
                    for (int64_t i = 0; i < n; i++) {
                        const double upper = a[p * n + i], lower = a[q * n + i];
                        a[p * n + i] = c * upper - s * lower;
                        a[q * n + i] = s * upper + c * lower;
                        const double left = vectors[i * n + p], right = vectors[i * n + q];
                        vectors[i * n + p] = c * left - s * right;
                        vectors[i * n + q] = s * left + c * right;
                    }
                    a[p * n + q] = a[q * n + p] = 0.0;
                }
            }
        }
        for (int64_t j = 0; j < n; j++) {
            int64_t least = 0;
            for (int64_t i = 1; i < n; i++) {
                if (a[i * n + i] < a[least * n + least]) least = i;
            }
            const double sign = fl_leading_sign_$t(vectors + least, n, n);
            to_w[j] = ($T)(a[least * n + least] * scale);
            for (int64_t i = 0; i < n; i++) to_v[i * n + j] = ($T)(vectors[i * n + least] * sign);
            a[least * n + least] = INFINITY;
        }
    }
    return NULL;
}
