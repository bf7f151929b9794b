// Runs CUDA C++ where no device is: the threads of a block are fibers that wait for one another, blocks run one after the
// other. Threads and blocks run from the last to the first, so that what counts on an order is found, and memory of the
// device cannot be touched while the host runs.
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static

struct emulated_place {
    unsigned x;
};
inline emulated_place threadIdx, blockIdx, blockDim, gridDim;

typedef int cudaError_t;
typedef void *cudaStream_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

// Memory of the device lies in one range, which is closed while the host runs.
inline const size_t emulated_size = size_t(1) << 28;
inline size_t emulated_used = 0;
inline unsigned char *emulated_memory() {
    static unsigned char *memory = nullptr;
    if (memory == nullptr) {
        void *found = mmap(nullptr, emulated_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) abort();
        memory = static_cast<unsigned char *>(found);
    }
    return memory;
}
struct emulated_open {
    emulated_open() { mprotect(emulated_memory(), emulated_size, PROT_READ | PROT_WRITE); }
    ~emulated_open() { mprotect(emulated_memory(), emulated_size, PROT_NONE); }
};

inline cudaError_t cudaMalloc(void **to, size_t bytes) {
    const size_t taken = (bytes + 255) / 256 * 256;
    if (emulated_used + taken > emulated_size) return cudaErrorMemoryAllocation;
    *to = emulated_memory() + emulated_used;
    emulated_used += taken;
    emulated_open open;
    // What was never written is not a number.
    memset(*to, 0xff, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaFree(void *) { return cudaSuccess; }
inline cudaError_t cudaMallocHost(void **to, size_t bytes) {
    *to = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *to == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFreeHost(void *memory) {
    free(memory);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    emulated_open open;
    memmove(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void *to, int value, size_t bytes) {
    emulated_open open;
    memset(to, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) { return cudaMemset(to, value, bytes); }
inline cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t) {
    for (size_t row = 0; row < height; row++) cudaMemset(static_cast<unsigned char *>(to) + row * pitch, value, width);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t error) { return error == 0 ? "no error" : "out of memory"; }

template <class T> T atomicAdd(T *to, T x) {
    const T old = *to;
    *to += x;
    return old;
}
inline int atomicCAS(int *to, int expected, int wanted) {
    const int old = *to;
    if (old == expected) *to = wanted;
    return old;
}

// The fiber that runs, and where the loop over fibers goes on.
inline ucontext_t emulated_loop, *emulated_fiber = nullptr;
inline const std::function<void()> *emulated_kernel = nullptr;
inline bool emulated_done = false;

inline void __syncthreads() {
    if (emulated_fiber == nullptr) {
        fprintf(stderr, "a kernel waits for its block, but was not started together\n");
        abort();
    }
    swapcontext(emulated_fiber, &emulated_loop);
}
inline void emulated_thread() {
    (*emulated_kernel)();
    emulated_done = true;
    swapcontext(emulated_fiber, &emulated_loop);
}

inline void emulated_alone(unsigned blocks, unsigned threads, const std::function<void()> &kernel) {
    emulated_open open;
    blockDim.x = threads;
    gridDim.x = blocks;
    for (blockIdx.x = blocks; blockIdx.x-- > 0;)
        for (threadIdx.x = threads; threadIdx.x-- > 0;) kernel();
}
inline void emulated_together(unsigned blocks, unsigned threads, const std::function<void()> &kernel) {
    const size_t stack = 1 << 16;
    static std::vector<unsigned char> stacks(256 * stack);
    emulated_open open;
    blockDim.x = threads;
    gridDim.x = blocks;
    emulated_kernel = &kernel;
    for (blockIdx.x = blocks; blockIdx.x-- > 0;) {
        std::vector<ucontext_t> fibers(threads);
        std::vector<bool> done(threads, false);
        for (unsigned i = 0; i < threads; i++) {
            getcontext(&fibers[i]);
            fibers[i].uc_stack.ss_sp = stacks.data() + i * stack;
            fibers[i].uc_stack.ss_size = stack;
            fibers[i].uc_link = nullptr;
            makecontext(&fibers[i], emulated_thread, 0);
        }
        for (unsigned left = threads, was = 0; left > 0; was = left) {
            // Either all wait, or none does.
            if (was != 0 && was != threads && left != 0) {
                fprintf(stderr, "some threads of a block wait for others that have ended\n");
                abort();
            }
            for (unsigned i = threads; i-- > 0;) {
                if (done[i]) continue;
                threadIdx.x = i;
                emulated_fiber = &fibers[i];
                emulated_done = false;
                swapcontext(&emulated_loop, emulated_fiber);
                if (emulated_done) {
                    done[i] = true;
                    left--;
                }
            }
        }
        emulated_fiber = nullptr;
    }
}

#define FL_LAUNCH(kernel, blocks, threads, stream, ...) emulated_alone(blocks, threads, [&] { kernel(__VA_ARGS__); })
#define FL_LAUNCH_TOGETHER(kernel, blocks, threads, stream, ...) emulated_together(blocks, threads, [&] { kernel(__VA_ARGS__); })

#endif
