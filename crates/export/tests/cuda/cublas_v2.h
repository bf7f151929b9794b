// The two functions of cuBLAS that exported programs call.
#ifndef EMULATED_CUBLAS_H
#define EMULATED_CUBLAS_H

#include "cuda_runtime.h"

typedef int cublasHandle_t_value;
typedef cublasHandle_t_value *cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

inline cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = new cublasHandle_t_value(0);
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }

template <class T>
cublasStatus_t emulated_gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha, const T *a,
                             int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {
    if (lda < (ta == CUBLAS_OP_N ? m : k) || ldb < (tb == CUBLAS_OP_N ? k : n) || ldc < m) return CUBLAS_STATUS_INVALID_VALUE;
    emulated_open open;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int p = 0; p < k; p++) {
                const T x = ta == CUBLAS_OP_N ? a[i + size_t(p) * lda] : a[p + size_t(i) * lda];
                const T y = tb == CUBLAS_OP_N ? b[p + size_t(j) * ldb] : b[j + size_t(p) * ldb];
                sum += double(x) * double(y);
            }
            T &to = c[i + size_t(j) * ldc];
            to = T(double(*alpha) * sum + (*beta == 0 ? 0.0 : double(*beta) * double(to)));
        }
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSgemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                  const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta,
                                  float *c, int ldc) {
    return emulated_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline cublasStatus_t cublasDgemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                  const double *alpha, const double *a, int lda, const double *b, int ldb, const double *beta,
                                  double *c, int ldc) {
    return emulated_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#endif
