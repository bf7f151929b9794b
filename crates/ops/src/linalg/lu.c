// The triangular factors of a square matrix, in its place: the lower one has ones on its diagonal. Rows are exchanged, which
// order tells. Gives the sign of the exchanges, or zero if a pivot is zero.
static inline double fl_lu_$t(double *a, int64_t *order, int64_t n) {
    double sign = 1.0;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t j = 0; j < n; j++) {
        int64_t pivot = j;
        for (int64_t i = j + 1; i < n; i++) {
            if (fabs(a[i * n + j]) > fabs(a[pivot * n + j])) pivot = i;
        }
        if (a[pivot * n + j] == 0.0) return 0.0;
        if (pivot != j) {
            const int64_t row = order[j];
            order[j] = order[pivot];
            order[pivot] = row;
            for (int64_t k = 0; k < n; k++) {
                const double element = a[j * n + k];
                a[j * n + k] = a[pivot * n + k];
                a[pivot * n + k] = element;
            }
            sign = -sign;
        }
        for (int64_t i = j + 1; i < n; i++) {
            const double factor = a[i * n + j] /= a[j * n + j];
            for (int64_t k = j + 1; k < n; k++) a[i * n + k] -= factor * a[j * n + k];
        }
    }
    return sign;
}

// Solves equations for one right-hand side by these factors, in its place, whose rows are in the order of the factors.
static inline void fl_lu_solve_$t(const double *lu, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) x[i] -= lu[i * n + j] * x[j];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) x[i] -= lu[i * n + j] * x[j];
        x[i] /= lu[i * n + i];
    }
}
