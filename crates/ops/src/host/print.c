#ifndef FL_PRINT
#define FL_PRINT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// A number with the fewest digits that give it back: with a dot, or with an exponent where it is very large or small.
static inline void fl_print_float(double x, int is_double) {
    char text[40];
    if (isnan(x) || isinf(x)) {
        printf("%s", isnan(x) ? "NaN" : x < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 0;
    do snprintf(text, sizeof text, "%.*e", digits, x);
    while (++digits < 17 && (is_double ? strtod(text, NULL) != x : strtof(text, NULL) != (float)x));
    const double shown = strtod(text, NULL);
    char *exponent = strchr(text, 'e');
    const int power = atoi(exponent + 1);
    *exponent = 0;
    if (x != 0 && (power < -4 || power > 15)) printf("%se%d", text, power);
    else printf("%.*f", digits - 1 - power > 1 ? digits - 1 - power : 1, shown);
}
#endif

// Kinds of numbers are float, double, whole and truth.
static inline void fl_print_element_$t($T x, int64_t kind) {
    if (kind < 2) fl_print_float((double)x, kind == 1);
    else if (kind == 2) printf("%" PRId64, (int64_t)x);
    else printf("%s", x != 0 ? "true" : "false");
}

// The elements in brackets, axis by axis; of long axes the first two, if there are many elements.
static inline void fl_print_axes_$t(const $T *x, int64_t rank, const int64_t *sizes, int64_t count, int64_t kind) {
    int64_t inner = 1;
    if (rank == 0) {
        fl_print_element_$t(*x, kind);
        return;
    }
    for (int64_t axis = 1; axis < rank; axis++) inner *= sizes[axis];
    printf("[");
    for (int64_t i = 0; i < sizes[0]; i++) {
        if (i > 0) printf(", ");
        if (count > 16 && sizes[0] > 2 && i == 2) {
            printf("..");
            break;
        }
        fl_print_axes_$t(x + i * inner, rank - 1, sizes + 1, count, kind);
    }
    printf("]");
}

// Writes a value to standard output: what stands before it, its type, unless there is none, and its elements, or so many
// of them in one row.
static inline void fl_print_$t(const $T *x, const char *message, const char *type, int64_t rank, const int64_t *sizes,
                               int64_t kind, int64_t most) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    printf("%s%s", message, message[0] ? ": " : "");
    if (type) {
        printf("%s[", type);
        for (int64_t axis = 0; axis < rank; axis++) printf("%s%" PRId64, axis ? ", " : "", sizes[axis]);
        printf("] ");
    }
    if (count == 0 || most >= 0) {
        printf("[");
        for (int64_t i = 0; i < count && i < most; i++) {
            if (i > 0) printf(", ");
            fl_print_element_$t(x[i], kind);
        }
        if (count > 0 && most < count) printf(most > 0 ? ", .." : "..");
        printf("]");
    } else {
        fl_print_axes_$t(x, rank, sizes, count, kind);
    }
    printf("\n");
}
