/* The C interface of Fluvial: programs are loaded, fed and run; states are read, set and kept in files.
 *
 * Every function may be called from any thread; a program that several threads use is used by one after the other.
 * Functions that give an int give 0 if all went well. fluvial_error() says in words what went wrong. */

#ifndef FLUVIAL_H
#define FLUVIAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. */
enum {
    FLUVIAL_BOOL = 0,
    FLUVIAL_U8 = 1,
    FLUVIAL_I8 = 2,
    FLUVIAL_I32 = 3,
    FLUVIAL_I64 = 4,
    FLUVIAL_F16 = 5,
    FLUVIAL_BF16 = 6,
    FLUVIAL_F32 = 7,
    FLUVIAL_F64 = 8
};

/* The most axes of a tensor. */
#define FLUVIAL_MAX_AXES 8

/* Elements that somebody owns: one behind the other, in row-major order. */
typedef struct fluvial_view {
    int32_t dtype;
    int32_t rank;
    int64_t dims[FLUVIAL_MAX_AXES];
    const void *data;
} fluvial_view;

/* A program with its states. */
typedef struct fluvial_program fluvial_program;

/* Reads a program: a file .fl or .flb, or a saved model (its folder, or its .safetensors file). Null for an error. */
fluvial_program *fluvial_load(const char *path);

/* Reads a program from the bytes of a file .flb. Null for an error. */
fluvial_program *fluvial_load_bytes(const void *bytes, size_t count);

/* Gives the memory of a program back; nothing happens for null. */
void fluvial_free(fluvial_program *program);

/* The names of inputs, outputs and states. They are valid as long as the program. */
int32_t fluvial_n_inputs(const fluvial_program *program);
const char *fluvial_input_name(const fluvial_program *program, int32_t number);
int32_t fluvial_n_outputs(const fluvial_program *program);
const char *fluvial_output_name(const fluvial_program *program, int32_t number);
int32_t fluvial_n_states(const fluvial_program *program);
const char *fluvial_state_name(const fluvial_program *program, int32_t number);

/* Feeds an input; the elements are copied, and stay until it is fed again. */
int32_t fluvial_feed(const fluvial_program *program, const char *name, const fluvial_view *view);

/* Runs the program once: a prediction, or a step of a training, which changes states. */
int32_t fluvial_run(const fluvial_program *program);

/* An output of the last run. Its elements are valid until the next run of the program. */
int32_t fluvial_output(const fluvial_program *program, const char *name, fluvial_view *view);

/* The value of a state. Its elements are valid until a state of the program is asked for again. */
int32_t fluvial_state(const fluvial_program *program, const char *name, fluvial_view *view);

/* Gives a state a value of its type; the elements are copied. */
int32_t fluvial_set_state(const fluvial_program *program, const char *name, const fluvial_view *view);

/* Writes all states to a file .safetensors, and reads them again: a checkpoint between runs. */
int32_t fluvial_save_states(const fluvial_program *program, const char *path);
int32_t fluvial_load_states(const fluvial_program *program, const char *path);

/* What went wrong in the last call of this thread; empty, if nothing did. It is valid until the next call. */
const char *fluvial_error(void);

#ifdef __cplusplus
}
#endif

#endif
