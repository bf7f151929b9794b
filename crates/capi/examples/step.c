/* Trains two weights by steps of a program, keeps its states in a file and reads them again: step PROGRAM FILE. */

#include "fluvial.h"

#include <stdio.h>

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, fluvial_error());
    return 1;
}

int main(int argc, char **argv) {
    const double xs[6] = {1, 0, 0, 1, 1, 1}, ys[3] = {1, 3, 4};
    const fluvial_view x = {FLUVIAL_F64, 2, {3, 2}, xs}, y = {FLUVIAL_F64, 2, {3, 1}, ys};
    fluvial_view loss, w;
    if (argc != 3) return 2;
    fluvial_program *program = fluvial_load(argv[1]);
    if (program == NULL) return fail("load");
    if (fluvial_feed(program, "no such input", &x) == 0 || fluvial_error()[0] == 0) return 3;
    if (fluvial_feed(program, "x", &x) != 0 || fluvial_feed(program, "y", &y) != 0) return fail("feed");
    for (int step = 0; step < 400; step++) {
        if (fluvial_run(program) != 0) return fail("run");
    }
    if (fluvial_output(program, fluvial_output_name(program, 0), &loss) != 0) return fail("output");
    if (fluvial_save_states(program, argv[2]) != 0) return fail("save");
    fluvial_program *again = fluvial_load(argv[1]);
    if (again == NULL || fluvial_load_states(again, argv[2]) != 0) return fail("load again");
    if (fluvial_state(again, "w", &w) != 0) return fail("state");
    const double *found = w.data;
    printf("loss %.4f w %.2f %.2f\n", *(const double *)loss.data, found[0], found[1]);
    fluvial_free(again);
    fluvial_free(program);
    return 0;
}
