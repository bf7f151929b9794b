// Products of matrices: of each in a batch, whose axes have these sizes; the matrices of a and b are so far apart along them.
static inline FL_HOST void fl_matmul_$t(FL_TAKES const $T *a, const $T *b, $T *c, int64_t rank, const int64_t *sizes, const int64_t *steps_a,
                                const int64_t *steps_b, int64_t ta, int64_t tb, int64_t m, int64_t n, int64_t k) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    for (int64_t i = 0; i < count; i++) {
        const $T *left = a + fl_batch_$t(i, rank, sizes, steps_a), *right = b + fl_batch_$t(i, rank, sizes, steps_b);
        fl_gemm_$t(FL_GIVES (int)ta, (int)tb, m, n, k, left, ta ? m : k, right, tb ? k : n, c + i * m * n, n, 0);
    }
}
