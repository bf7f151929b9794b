#if defined(__CUDACC__)
// Some programs have no sizes, or no inputs.
#pragma nv_diag_suppress 177
#endif

static @NAME@_device device;

static inline void fine(cudaError_t status) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(status));
    exit(1);
}

// Memory of the device with these bytes in it.
static inline void *there(const void *from, size_t bytes) {
    void *to = NULL;
    fine(cudaMalloc(&to, bytes));
    fine(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return to;
}

static inline void here(void *to, const void *from, size_t bytes) {
    fine(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
