// Products of matrices: of each in a batch, whose axes have these sizes; the matrices of a and b are so far apart along them.
static inline void fl_matmul_$t(const $T *a, const $T *b, $T *c, int64_t rank, const int64_t *sizes, const int64_t *steps_a,
                                const int64_t *steps_b, int64_t ta, int64_t tb, int64_t m, int64_t n, int64_t k) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at_a = 0, at_b = 0;
        for (int64_t axis = rank - 1; axis >= 0; axis--) {
            at_a += rest % sizes[axis] * steps_a[axis];
            at_b += rest % sizes[axis] * steps_b[axis];
            rest /= sizes[axis];
        }
        fl_gemm_$t((int)ta, (int)tb, m, n, k, a + at_a, ta ? m : k, b + at_b, tb ? k : n, c + i * m * n, n, 0);
    }
}
