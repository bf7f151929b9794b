// A program as CUDA C++: its states, its memory and its constants are on a device, its steps are kernels there.
//
// Open a device, give the states their initial values by @NAME@_load, then call @NAME@_run as often as you like: it takes
// no other memory. Inputs and outputs are memory of the device. Different threads need a device each.

#ifndef @UPPER@_H
#define @UPPER@_H

#include <stdint.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>

// The bytes of memory of the device that a run needs, besides the states.
#define @UPPER@_ARENA_BYTES @BYTES@

// What stays from one run to the next.
typedef struct @NAME@_state {
@STATES@} @NAME@_state;

// Elements one behind the other, the last axis first; pointers to memory of the device.
typedef struct @NAME@_inputs {
@INPUTS@} @NAME@_inputs;

// Where results are written, in memory of the device; those with a null pointer are not.
typedef struct @NAME@_outputs {
@OUTPUTS@} @NAME@_outputs;

typedef struct @NAME@_device {
    @NAME@_state *state;
    unsigned char *arena, *constants;
    void *fault;
    cudaStream_t stream;
    cublasHandle_t blas;
    // What went wrong, after a call that did not give 0.
    char error[256];
} @NAME@_device;

// Takes the memory, on the device that is current. Everything runs on this stream; 0 is the usual one.
int @NAME@_open(@NAME@_device *device, cudaStream_t stream);
void @NAME@_close(@NAME@_device *device);

// Runs the program once, and waits for its end. Gives 0, or 1 with a text in device->error.
int @NAME@_run(@NAME@_device *device, const @NAME@_inputs *in, @NAME@_outputs *out);

// Reads states from a file and writes them to one. Gives 0 if all went well, or 1 with a text in device->error.
int @NAME@_load(@NAME@_device *device, const char *path);
int @NAME@_save(@NAME@_device *device, const char *path);

#endif
