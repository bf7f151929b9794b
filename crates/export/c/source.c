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

// gcc 12 warns of subscripts that its own division of loops among cores makes up.
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"
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

// Loops and copies whose parts may be made in any order, and the rest of what functions say to be kernels elsewhere.
#define FL_EACH(i, count) for (int64_t i = 0; i < (count); i++)
#define FL_CLEAR(to, count) memset(to, 0, sizeof *(to) * (size_t)(count))
#define FL_CLEAR_LANES(to, rows, count) memset(to, 0, sizeof *(to) * (size_t)((rows) * (count)))
#define FL_COPY_LANES(to, from, rows, count) memcpy(to, from, sizeof *(to) * (size_t)((rows) * (count)))
#define FL_ZERO(to, bytes) memset(to, 0, bytes)
#define FL_ADD(to, x) (to) += (x)
#define FL_OWN(work, count) (work)
#define FL_SYNC
#define FL_BOTH
#define FL_HOST
#define FL_KERNEL static inline
#define FL_TABLE static const
#define FL_TAKES
#define FL_GIVES
#define FL_CALL(function, count, ...) function(__VA_ARGS__)

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
