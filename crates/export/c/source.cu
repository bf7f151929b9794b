// A program as CUDA C++. Each step has the line of the user's code and the op as a comment.

#include "@NAME@.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Functions are written once for all element types: some comparisons say nothing of whole numbers.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 39, 68, 177, 179, 186, 221
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif

// How kernels are started. Those of the second kind wait for the other threads of their block.
#ifndef FL_LAUNCH
#define FL_LAUNCH(kernel, blocks, threads, stream, ...) kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#define FL_LAUNCH_TOGETHER(kernel, blocks, threads, stream, ...) kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif
#define FL_THREADS 128
#define FL_START(kernel, blocks, threads) FL_LAUNCH(kernel, blocks, threads, fl.stream, fl)
#define FL_START_TOGETHER(kernel, blocks) FL_LAUNCH_TOGETHER(kernel, blocks, FL_THREADS, fl.stream, fl)

// Which thread this is, of how many; a loop whose parts the threads share.
#define FL_ME ((int64_t)blockIdx.x * (int64_t)blockDim.x + (int64_t)threadIdx.x)
#define FL_ALL ((int64_t)gridDim.x * (int64_t)blockDim.x)
#define FL_EACH(i, count) for (int64_t i = FL_ME; i < (count); i += FL_ALL)
#define FL_CLEAR(to, count) \
    FL_EACH(fl_i, count)(to)[fl_i] = 0
// Of rows, each thread clears and copies the elements that it later changes.
#define FL_CLEAR_LANES(to, rows, count)                       \
    for (int64_t fl_row = 0; fl_row < (rows); fl_row++) \
        FL_EACH(fl_i, count)(to)[fl_row * (count) + fl_i] = 0
#define FL_COPY_LANES(to, from, rows, count)                  \
    for (int64_t fl_row = 0; fl_row < (rows); fl_row++) \
        FL_EACH(fl_i, count)(to)[fl_row * (count) + fl_i] = (from)[fl_row * (count) + fl_i]
#define FL_ADD(to, x) atomicAdd(&(to), x)
#define FL_OWN(work, count) ((work) + FL_ME * (count))
#define FL_SYNC __syncthreads()
#define FL_BOTH __host__ __device__
#define FL_HOST
#define FL_KERNEL static __global__
#define FL_TABLE static __device__ const
#define FL_TAKES const fl_run &fl,
#define FL_GIVES fl,
#define FL_CALL(kernel, count, ...) FL_LAUNCH(kernel, fl_blocks(count), FL_THREADS, fl.stream, __VA_ARGS__)
#define FL_ZERO(to, bytes) FL_ASK(cudaMemsetAsync(to, 0, bytes, fl.stream))
#define FL_ASK(call) \
    if ((call) != 0) *fl.failed = 1
#define FL_IVDEP
#define FL_SUM(x)
#define FL_ONCE(line)              \
    __syncthreads();               \
    if (threadIdx.x == 0) { line; } \
    __syncthreads();
// What all threads of a block have, made one by a tree.
#define FL_TREE(T, sum, both)                                          \
    __shared__ T fl_lanes[FL_THREADS];                                 \
    fl_lanes[threadIdx.x] = sum;                                       \
    __syncthreads();                                                   \
    for (unsigned half = FL_THREADS / 2; half > 0; half /= 2) {        \
        if (threadIdx.x < half) {                                      \
            T *const lanes = fl_lanes + threadIdx.x;                   \
            lanes[0] = both;                                           \
        }                                                              \
        __syncthreads();                                               \
    }                                                                  \
    sum = fl_lanes[0];                                                 \
    __syncthreads();

// What went wrong first; kernels that start behind it do nothing.
typedef struct fl_told {
    int is;
    char text[252];
} fl_told;

// What a run has to do with.
typedef struct fl_run {
    unsigned char *at;
    const unsigned char *constants;
    @NAME@_state *state;
    @NAME@_inputs in;
    @NAME@_outputs out;
    fl_told *told;
    cudaStream_t stream;
    cublasHandle_t blas;
    int *failed;
@SIZES@} fl_run;

// Memory of any element type.
struct fl_any {
    unsigned char *bytes;
    template <class T> __host__ __device__ operator T *() const { return (T *)(void *)bytes; }
};

static inline unsigned fl_blocks(int64_t count) {
    const int64_t blocks = (count + FL_THREADS - 1) / FL_THREADS;
    return blocks < 1 ? 1 : blocks > 8192 ? 8192 : (unsigned)blocks;
}
static inline unsigned fl_blocks_of(int64_t count) { return count < 1 ? 1 : count > 8192 ? 8192 : (unsigned)count; }

static inline __device__ void fl_fail(const fl_run &fl, const char *where, const char *what) {
    if (atomicCAS(&fl.told->is, 0, 1) != 0) return;
    int at = 0;
    const char *const parts[3] = {where, ": ", what};
    for (int part = 0; part < 3; part++)
        for (const char *c = parts[part]; *c != 0 && at + 1 < (int)sizeof fl.told->text; c++) fl.told->text[at++] = *c;
    fl.told->text[at] = 0;
}

// Bytes that the threads of a block copy and clear.
static inline __device__ void fl_copy_part(void *to, const void *from, size_t bytes) {
    __syncthreads();
    FL_EACH(i, (int64_t)bytes)((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    __syncthreads();
}
static inline __device__ void fl_clear_part(void *to, size_t bytes) {
    __syncthreads();
    FL_EACH(i, (int64_t)bytes)((unsigned char *)to)[i] = 0;
    __syncthreads();
}

// Bytes that a kernel of their own copies or clears; by eight, where they lie so.
static __global__ void fl_copying(const fl_run fl, unsigned char *to, const unsigned char *from, int64_t bytes, int64_t each) {
    if (fl.told->is) return;
    if (each == 8) {
        FL_EACH(i, bytes / 8)((uint64_t *)(void *)to)[i] = ((const uint64_t *)(const void *)from)[i];
    } else {
        FL_EACH(i, bytes) to[i] = from[i];
    }
}
static __global__ void fl_clearing(const fl_run fl, unsigned char *to, int64_t bytes, int64_t each) {
    if (fl.told->is) return;
    if (each == 8) {
        FL_EACH(i, bytes / 8)((uint64_t *)(void *)to)[i] = 0;
    } else {
        FL_EACH(i, bytes) to[i] = 0;
    }
}
static inline void fl_copy_all(const fl_run &fl, void *to, const void *from, size_t bytes) {
    const int64_t each = ((uintptr_t)to | (uintptr_t)from | bytes) % 8 == 0 ? 8 : 1;
    FL_LAUNCH(fl_copying, fl_blocks((int64_t)bytes / each), FL_THREADS, fl.stream, fl, (unsigned char *)to,
              (const unsigned char *)from, (int64_t)bytes, each);
}
static inline void fl_clear_all(const fl_run &fl, void *to, size_t bytes) {
    const int64_t each = ((uintptr_t)to | bytes) % 8 == 0 ? 8 : 1;
    FL_LAUNCH(fl_clearing, fl_blocks((int64_t)bytes / each), FL_THREADS, fl.stream, fl, (unsigned char *)to, (int64_t)bytes,
              each);
}

// Waits, and gives 1 if something went wrong, with its text.
static inline int fl_went_wrong(const fl_run &fl, @NAME@_device *device) {
    fl_told told;
    cudaError_t status = cudaMemcpyAsync(&told, fl.told, sizeof told, cudaMemcpyDeviceToHost, fl.stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(fl.stream);
    if (status == cudaSuccess) status = cudaGetLastError();
    if (status != cudaSuccess) {
        snprintf(device->error, sizeof device->error, "%s", cudaGetErrorString(status));
        return 1;
    }
    if (*fl.failed) {
        snprintf(device->error, sizeof device->error, "cuBLAS or a copy on the device failed");
        return 1;
    }
    if (told.is) memcpy(device->error, told.text, sizeof told.text);
    return told.is;
}

// Brings a truth from the device, by which the host goes on.
static inline int fl_asked(const fl_run &fl, @NAME@_device *device, const uint8_t *from, uint8_t *to) {
    if (cudaMemcpyAsync(to, from, 1, cudaMemcpyDeviceToHost, fl.stream) != cudaSuccess) *fl.failed = 1;
    return fl_went_wrong(fl, device);
}

@CODE@
static int fl_refused(@NAME@_device *device, cudaError_t status) {
    snprintf(device->error, sizeof device->error, "%s", cudaGetErrorString(status));
    return 1;
}

int @NAME@_open(@NAME@_device *device, cudaStream_t stream) {
    memset(device, 0, sizeof *device);
    device->stream = stream;
    cudaError_t status = cudaMalloc((void **)&device->state, sizeof *device->state);
    if (status == cudaSuccess) status = cudaMemset(device->state, 0, sizeof *device->state);
    if (status == cudaSuccess) status = cudaMalloc((void **)&device->arena, @UPPER@_ARENA_BYTES);
    if (status == cudaSuccess) status = cudaMalloc((void **)&device->constants, @CONSTANT_BYTES@);
    if (status == cudaSuccess) status = cudaMalloc(&device->fault, sizeof(fl_told));
@CONSTANTS@    if (status != cudaSuccess) return fl_refused(device, status);
    if (cublasCreate(&device->blas) != CUBLAS_STATUS_SUCCESS || cublasSetStream(device->blas, stream) != CUBLAS_STATUS_SUCCESS) {
        snprintf(device->error, sizeof device->error, "cuBLAS cannot be started");
        return 1;
    }
    return 0;
}

void @NAME@_close(@NAME@_device *device) {
    if (device->blas != NULL) cublasDestroy(device->blas);
    cudaFree(device->state);
    cudaFree(device->arena);
    cudaFree(device->constants);
    cudaFree(device->fault);
    memset(device, 0, sizeof *device);
}

int @NAME@_load(@NAME@_device *device, const char *path) {
    char word[8];
    @NAME@_state *state = NULL;
    cudaError_t status = cudaMallocHost((void **)&state, sizeof *state);
    if (status != cudaSuccess) return fl_refused(device, status);
    FILE *file = fopen(path, "rb");
    int ok = file != NULL && fread(word, sizeof word, 1, file) == 1 && memcmp(word, "FLUVIALC", sizeof word) == 0;
@LOAD@    if (file != NULL) fclose(file);
    if (ok) status = cudaMemcpy(device->state, state, sizeof *state, cudaMemcpyHostToDevice);
    cudaFreeHost(state);
    if (!ok) snprintf(device->error, sizeof device->error, "cannot read the states from %s", path);
    if (status != cudaSuccess) return fl_refused(device, status);
    return ok ? 0 : 1;
}

int @NAME@_save(@NAME@_device *device, const char *path) {
    @NAME@_state *state = NULL;
    cudaError_t status = cudaMallocHost((void **)&state, sizeof *state);
    if (status == cudaSuccess) status = cudaMemcpy(state, device->state, sizeof *state, cudaMemcpyDeviceToHost);
    if (status != cudaSuccess) return fl_refused(device, status);
    FILE *file = fopen(path, "wb");
    int ok = file != NULL && fwrite("FLUVIALC", 8, 1, file) == 1;
@SAVE@    if (file != NULL) ok = fclose(file) == 0 && ok;
    cudaFreeHost(state);
    if (!ok) snprintf(device->error, sizeof device->error, "cannot write the states to %s", path);
    return ok ? 0 : 1;
}
