//@ cuda
#ifndef FL_GEMM
#define FL_GEMM
#define FL_BLAS_f32 cublasSgemm
#define FL_BLAS_f64 cublasDgemm
#endif
// cuBLAS counts by columns: to it, these are products of the transposed matrices.
// c = a b, or c += a b: row-major, a is m by k and b is k by n, unless they are transposed.
static inline FL_HOST void fl_gemm_$t(FL_TAKES int ta, int tb, int64_t m, int64_t n, int64_t k, const $T *a, int64_t lda,
                                      const $T *b, int64_t ldb, $T *c, int64_t ldc, int add) {
    const $T one = 1, kept = add ? 1 : 0;
    if (m == 0 || n == 0 || (k == 0 && add)) return;
    if (k == 0) {
        FL_ASK(cudaMemset2DAsync(c, sizeof($T) * (size_t)ldc, 0, sizeof($T) * (size_t)n, (size_t)m, fl.stream));
        return;
    }
    FL_ASK(FL_BLAS_$t(fl.blas, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)m, (int)k, &one, b,
                      (int)ldb, a, (int)lda, &kept, c, (int)ldc));
}
//@ c
#ifndef FL_GEMM
#define FL_GEMM
#define FL_IS_BLAS_f32 1
#define FL_IS_BLAS_f64 1
#define FL_BLAS_f32 cblas_sgemm
#define FL_BLAS_f64 cblas_dgemm
#if defined(__AVX512F__)
#define FL_VECTOR 64
#define FL_ROWS 12
#elif defined(__AVX__)
#define FL_VECTOR 32
#define FL_ROWS 6
#else
#define FL_VECTOR 16
#define FL_ROWS 6
#endif
#define FL_DEPTH 256
#if defined(__GNUC__)
#define FL_UNROLL _Pragma("GCC unroll 16")
#else
#define FL_UNROLL
#endif
#endif
enum { fl_lanes_$t = FL_VECTOR / sizeof($T), fl_width_$t = 2 * FL_VECTOR / sizeof($T) };
#if defined(__GNUC__)
typedef $T fl_vector_$t __attribute__((vector_size(FL_VECTOR), aligned(sizeof($T)), may_alias));
// So many rows of c, of which so many are wanted, from columns of a, which are `across` apart, and a packed panel of b.
static inline void fl_tile_$t(int64_t rows, int64_t depth, const $T *a, int64_t down, int64_t across, const $T *panel,
                              $T *c, int64_t ldc, int64_t columns, int add) {
    fl_vector_$t sum[FL_ROWS][2];
    memset(sum, 0, sizeof sum);
    if (rows == FL_ROWS) {
        for (int64_t p = 0; p < depth; p++) {
            const fl_vector_$t low = *(const fl_vector_$t *)(panel + p * fl_width_$t);
            const fl_vector_$t high = *(const fl_vector_$t *)(panel + p * fl_width_$t + fl_lanes_$t);
            FL_UNROLL
            for (int i = 0; i < FL_ROWS; i++) {
                const $T x = a[i * down + p * across];
                sum[i][0] += x * low;
                sum[i][1] += x * high;
            }
        }
    } else {
        for (int64_t p = 0; p < depth; p++) {
            const fl_vector_$t low = *(const fl_vector_$t *)(panel + p * fl_width_$t);
            const fl_vector_$t high = *(const fl_vector_$t *)(panel + p * fl_width_$t + fl_lanes_$t);
            for (int64_t i = 0; i < rows; i++) {
                const $T x = a[i * down + p * across];
                sum[i][0] += x * low;
                sum[i][1] += x * high;
            }
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        $T out[2 * FL_VECTOR / sizeof($T)];
        memcpy(out, sum[i], sizeof out);
        for (int64_t j = 0; j < columns; j++) c[i * ldc + j] = add ? c[i * ldc + j] + out[j] : out[j];
    }
}
#else
static inline void fl_tile_$t(int64_t rows, int64_t depth, const $T *a, int64_t down, int64_t across, const $T *panel,
                              $T *c, int64_t ldc, int64_t columns, int add) {
    $T sum[FL_ROWS][2 * FL_VECTOR / sizeof($T)];
    memset(sum, 0, sizeof sum);
    for (int64_t p = 0; p < depth; p++)
        for (int64_t i = 0; i < rows; i++)
            for (int j = 0; j < fl_width_$t; j++) sum[i][j] += a[i * down + p * across] * panel[p * fl_width_$t + j];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) c[i * ldc + j] = add ? c[i * ldc + j] + sum[i][j] : sum[i][j];
}
#endif
// c = a b, or c += a b: row-major, a is m by k and b is k by n, unless they are transposed.
static inline FL_HOST void fl_gemm_$t(FL_TAKES int ta, int tb, int64_t m, int64_t n, int64_t k, const $T *a, int64_t lda, const $T *b,
                              int64_t ldb, $T *c, int64_t ldc, int add) {
    if (m == 0 || n == 0) return;
#if defined(FL_CBLAS) && FL_IS_BLAS_$t
    if (k > 0) {
        FL_BLAS_$t(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n,
                   (int)k, 1, a, (int)lda, b, (int)ldb, add ? 1 : 0, c, (int)ldc);
        return;
    }
#endif
    const int64_t down = ta ? 1 : lda, across = ta ? lda : 1;
    if (k == 0 && !add) {
        for (int64_t i = 0; i < m; i++) memset(c + i * ldc, 0, sizeof($T) * (size_t)n);
        return;
    }
    FL_PARALLEL(m * n * k)
    for (int64_t j = 0; j < n; j += fl_width_$t) {
        $T panel[FL_DEPTH * (2 * FL_VECTOR / sizeof($T))];
        const int64_t columns = n - j < fl_width_$t ? n - j : fl_width_$t;
        for (int64_t p = 0; p < k; p += FL_DEPTH) {
            const int64_t depth = k - p < FL_DEPTH ? k - p : FL_DEPTH;
            if (columns < fl_width_$t) memset(panel, 0, sizeof($T) * (size_t)(depth * fl_width_$t));
            if (tb) {
                for (int64_t s = 0; s < columns; s++)
                    for (int64_t q = 0; q < depth; q++) panel[q * fl_width_$t + s] = b[(j + s) * ldb + p + q];
            } else {
                for (int64_t q = 0; q < depth; q++)
                    memcpy(panel + q * fl_width_$t, b + (p + q) * ldb + j, sizeof($T) * (size_t)columns);
            }
            for (int64_t i = 0; i < m; i += FL_ROWS) {
                const int64_t rows = m - i < FL_ROWS ? m - i : FL_ROWS;
                fl_tile_$t(rows, depth, a + i * down + p * across, down, across, panel, c + i * ldc + j, ldc, columns,
                           add || p > 0);
            }
        }
    }
}
