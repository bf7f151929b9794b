// Makes a column a vector of length one that is orthogonal to those before it.
static inline void fl_complete_$t(double *u, int64_t m, int64_t n, int64_t j) {
    for (int64_t unit = 0; unit < m; unit++) {
        double square = 0.0;
        for (int64_t i = 0; i < m; i++) u[i * n + j] = i == unit;
        for (int64_t twice = 0; twice < 2; twice++) {
            for (int64_t before = 0; before < j; before++) {
                double along = 0.0;
                for (int64_t i = 0; i < m; i++) along += u[i * n + before] * u[i * n + j];
                for (int64_t i = 0; i < m; i++) u[i * n + j] -= along * u[i * n + before];
            }
        }
        for (int64_t i = 0; i < m; i++) square += u[i * n + j] * u[i * n + j];
        if (square * (double)(2 * m) < 1.0) continue;
        for (int64_t i = 0; i < m; i++) u[i * n + j] /= sqrt(square);
        return;
    }
}

// Singular values, from the greatest on, and vectors, by rotations of the columns of the matrix, or of its rows if these are
// fewer; work has room for the matrix, a square one of the lesser size, and the values.
static inline const char *fl_svd_$t(const $T *x, $T *left, $T *values, $T *right, int64_t batch, int64_t rows,
                                    int64_t columns, double *work) {
    const int64_t turned = rows < columns, m = turned ? columns : rows, n = turned ? rows : columns;
    double *u = FL_OWN(work, m * n + n * n + n), *v = u + m * n, *s = v + n * n;
    FL_EACH(b, batch) {
        const $T *from = x + b * m * n;
        $T *to_left = left + b * rows * n, *to_values = values + b * n, *to_right = right + b * n * columns;
        const double scale = fl_scale_$t(from, m * n);
        if (isnan(scale)) return "a matrix has an element that is not finite";
        for (int64_t i = 0; i < m * n; i++) u[i] = (double)from[turned ? i % n * m + i / n : i] / scale;
        for (int64_t i = 0; i < n * n; i++) v[i] = i / n == i % n;
        for (int64_t sweep = 0, settled = 0; !settled; sweep++) {
            if (sweep == 60) return "the iteration for singular values did not settle";
            settled = 1;
            for (int64_t p = 0; p < n; p++) {
                for (int64_t q = p + 1; q < n; q++) {
                    double first = 0.0, second = 0.0, both = 0.0;
                    for (int64_t i = 0; i < m; i++) {
                        first += u[i * n + p] * u[i * n + p];
                        second += u[i * n + q] * u[i * n + q];
                        both += u[i * n + p] * u[i * n + q];
                    }
                    if (fabs(both) <= 1e-15 * sqrt(first) * sqrt(second) || fabs(both) < 1e-300) continue;
                    // Of a column that is nothing but rounding, no rotation makes more.
                    if (fmin(first, second) <= 1e-30 * fmax(first, second)) continue;
                    settled = 0;
                    const double ratio = (second - first) / (2.0 * both);
                    const double t = copysign(1.0, ratio) / (fabs(ratio) + sqrt(ratio * ratio + 1.0));
                    const double c = 1.0 / sqrt(t * t + 1.0), sine = t * c;
                    for (int64_t i = 0; i < m + n; i++) {
                        double *row = i < m ? u + i * n : v + (i - m) * n;
                        const double one = row[p], other = row[q];
                        row[p] = c * one - sine * other;
                        row[q] = sine * one + c * other;
                    }
                }
            }
        }
        for (int64_t j = 0; j < n; j++) {
            double square = 0.0;
            for (int64_t i = 0; i < m; i++) square += u[i * n + j] * u[i * n + j];
            s[j] = sqrt(square);
        }
        for (int64_t j = 0; j < n; j++) {
            int64_t most = j;
            for (int64_t i = j + 1; i < n; i++) {
                if (s[i] > s[most]) most = i;
            }
            const double value = s[most];
            s[most] = s[j];
            s[j] = value;
            for (int64_t i = 0; i < m + n; i++) {
                double *row = i < m ? u + i * n : v + (i - m) * n;
                const double element = row[most];
                row[most] = row[j];
                row[j] = i < m && value > 0.0 ? element / value : element;
            }
            if (value <= 1e-15 * (double)m * s[0]) fl_complete_$t(u, m, n, j);
            const double *basis = turned ? v : u, *other = turned ? u : v;
            const double sign = fl_leading_sign_$t(basis + j, rows, n);
            to_values[j] = ($T)(value * scale);
            for (int64_t i = 0; i < rows; i++) to_left[i * n + j] = ($T)(basis[i * n + j] * sign);
            for (int64_t i = 0; i < columns; i++) to_right[j * columns + i] = ($T)(other[i * n + j] * sign);
        }
    }
    return NULL;
}
