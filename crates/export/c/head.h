// A program as C: one function, its states in one struct, its memory in another.
//
// Take a state and an arena (static or on the heap: they may be large), give the state its initial values, then call
// @NAME@_run as often as you like. It takes no other memory. Different threads need an arena and a state each.

#ifndef @UPPER@_H
#define @UPPER@_H

#include <stdint.h>

#ifdef __cplusplus
#define _Alignas(n) alignas(n)
extern "C" {
#endif

// The bytes of memory that a run needs.
#define @UPPER@_ARENA_BYTES @BYTES@

typedef struct @NAME@_arena {
    _Alignas(64) unsigned char bytes[@UPPER@_ARENA_BYTES];
    // What went wrong, after a run that did not give 0.
    char error[256];
} @NAME@_arena;

// What stays from one run to the next. It holds no pointers: it may be copied and written to files as it is.
typedef struct @NAME@_state {
@STATES@} @NAME@_state;

// Elements one behind the other, the last axis first.
typedef struct @NAME@_inputs {
@INPUTS@} @NAME@_inputs;

// Where results are written; those with a null pointer are not.
typedef struct @NAME@_outputs {
@OUTPUTS@} @NAME@_outputs;

// Runs the program once. Gives 0, or 1 with a text in arena->error.
int @NAME@_run(@NAME@_state *state, const @NAME@_inputs *in, @NAME@_outputs *out, @NAME@_arena *arena);

// Reads states from a file and writes them to one. Gives 0 if all went well.
int @NAME@_load(@NAME@_state *state, const char *path);
int @NAME@_save(const @NAME@_state *state, const char *path);

// Gives states their initial values, if these are part of the source.
void @NAME@_init(@NAME@_state *state);

#ifdef __cplusplus
}
#undef _Alignas
#endif

#endif
