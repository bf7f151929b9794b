// A program as plain C11. Each step has the line of the user's code and the op as a comment.

#include "@NAME@.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
@BLAS@
// Functions are written once for all element types: some comparisons say nothing of whole numbers.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define FL_IVDEP _Pragma("GCC ivdep")
#elif defined(__clang__)
#define FL_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FL_IVDEP
#endif

// With -fopenmp, long loops and matrix products run on all cores; the numbers stay the same.
#ifdef _OPENMP
#define FL_OMP(text) _Pragma(#text)
#define FL_PARALLEL(count) FL_OMP(omp parallel for if ((count) > 32768))
#define FL_APART(count) FL_OMP(omp parallel for simd if (parallel : (count) > 32768))
#else
#define FL_PARALLEL(count)
#define FL_APART(count) FL_IVDEP
#endif

// With FL_SIMD and -fopenmp-simd, sums are made in lanes.
#ifdef FL_SIMD
#define FL_PRAGMA(text) _Pragma(#text)
#define FL_SUM(x) FL_PRAGMA(omp simd reduction(+ : x))
#else
#define FL_SUM(x)
#endif

// A step backwards. gcc 12 gives wrong sums of elements that it sees to be read backwards.
static inline int64_t fl_back(int64_t step) {
#if defined(__GNUC__)
    __asm__("" : "+r"(step));
#endif
    return step;
}

static inline int fl_fail(@NAME@_arena *arena, const char *where, const char *what) {
    snprintf(arena->error, sizeof arena->error, "%s: %s", where, what);
    return 1;
}

@CODE@
int @NAME@_load(@NAME@_state *state, const char *path) {
    char word[8];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 1;
    int ok = fread(word, sizeof word, 1, file) == 1 && memcmp(word, "FLUVIALC", sizeof word) == 0;
@LOAD@    fclose(file);
    return ok ? 0 : 1;
}

int @NAME@_save(const @NAME@_state *state, const char *path) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return 1;
    int ok = fwrite("FLUVIALC", 8, 1, file) == 1;
@SAVE@    ok = fclose(file) == 0 && ok;
    return ok ? 0 : 1;
}
