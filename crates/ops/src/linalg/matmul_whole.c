// Products of matrices of whole numbers, which wrap.
static inline void fl_matmul_whole_$t(const $T *a, const $T *b, $T *c, int64_t rank, const int64_t *sizes,
                                      const int64_t *steps_a, const int64_t *steps_b, int64_t ta, int64_t tb, int64_t m,
                                      int64_t n, int64_t k) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    FL_EACH(row, count * m) {
        const int64_t at = row / m, i = row % m;
        const int64_t at_a = fl_batch_$t(at, rank, sizes, steps_a), at_b = fl_batch_$t(at, rank, sizes, steps_b);
        for (int64_t j = 0; j < n; j++) {
            uint64_t sum = 0;
            for (int64_t p = 0; p < k; p++) {
                const $T x = a[at_a + (ta ? p * m + i : i * k + p)], y = b[at_b + (tb ? j * k + p : p * n + j)];
                sum += (uint64_t)x * (uint64_t)y;
            }
            c[row * n + j] = ($T)sum;
        }
    }
}
