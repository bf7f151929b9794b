// Runs the program on .npy files: ./@NAME@ x=x.npy y=y.npy [--steps 10] [--weights @NAME@.bin] [--save after.bin]
// [--out folder/]. Outputs are written as .npy files, named like them. Sizes are given as batch=8.

#include "@NAME@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

@MACHINE@@MEMORY@
// The text behind `name=`, or behind the option `name`; null, if there is none.
static const char *text_of(int argc, char **argv, const char *name) {
    const size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (name[0] == '-' && strcmp(argv[i], name) == 0 && i + 1 < argc) return argv[i + 1];
        if (name[0] != '-' && strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') {
            return argv[i] + length + 1;
        }
    }
    return NULL;
}

static inline const char *find(int argc, char **argv, const char *name) {
    const char *found = text_of(argc, argv, name);
    if (found == NULL) {
        fprintf(stderr, "the input %s is missing: give %s=file.npy\n", name, name);
        exit(2);
    }
    return found;
}

static inline int64_t size_of(int argc, char **argv, const char *name) {
    const char *found = text_of(argc, argv, name);
    if (found == NULL) {
        fprintf(stderr, "the size %s is missing: give %s=number\n", name, name);
        exit(2);
    }
    return strtoll(found, NULL, 10);
}

static inline void refuse(const char *path, const char *why) {
    fprintf(stderr, "%s: %s\n", path, why);
    exit(2);
}

static inline void read_npy(const char *path, const char *type, void *to, size_t bytes, int rank, const int64_t *sizes) {
    FILE *file = fopen(path, "rb");
    unsigned char start[10];
    if (file == NULL) refuse(path, "cannot be opened");
    if (fread(start, 10, 1, file) != 1 || memcmp(start, "\x93NUMPY", 6) != 0 || start[6] != 1) {
        refuse(path, "is no .npy file of version 1");
    }
    const size_t length = start[8] + 256u * start[9];
    static char head[65536];
    if (fread(head, 1, length, file) != length) refuse(path, "ends within its header");
    head[length] = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "'descr': '%s'", type);
    if (strstr(head, wanted) == NULL) refuse(path, "has another element type than the program takes");
    if (strstr(head, "'fortran_order': False") == NULL) refuse(path, "is in Fortran's order");
    const char *at = strstr(head, "'shape': (");
    if (at == NULL) refuse(path, "says nothing of its sizes");
    at += 10;
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        char *end;
        const long long size = strtoll(at, &end, 10);
        if (end == at || size != sizes[axis]) refuse(path, "has other sizes than the program takes");
        count *= (size_t)size;
        at = end;
        while (*at == ',' || *at == ' ') at++;
    }
    if (*at != ')') refuse(path, "has more axes than the program takes");
    if (fread(to, bytes, count, file) != count) refuse(path, "ends within its elements");
    fclose(file);
}

static inline void write_npy(int argc, char **argv, const char *name, const char *type, const void *from, size_t bytes,
                             int rank, const int64_t *sizes) {
    const char *folder = text_of(argc, argv, "--out");
    char path[4096], head[1024], shape[512] = "";
    snprintf(path, sizeof path, "%s%s%s.npy", folder ? folder : "", folder ? "/" : "", name);
    size_t count = 1, used = 0;
    for (int axis = 0; axis < rank; axis++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%lld,%s", (long long)sizes[axis],
                                 axis + 1 < rank ? " " : "");
        count *= (size_t)sizes[axis];
    }
    int length = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    while ((10 + length + 1) % 64 != 0) head[length++] = ' ';
    head[length++] = '\n';
    FILE *file = fopen(path, "wb");
    if (file == NULL) refuse(path, "cannot be written");
    const unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 255),
                                     (unsigned char)(length >> 8)};
    const int ok = fwrite(start, 10, 1, file) == 1 && fwrite(head, (size_t)length, 1, file) == 1 &&
                   fwrite(from, bytes, count, file) == count;
    if (fclose(file) != 0 || !ok) refuse(path, "cannot be written");
}

int main(int argc, char **argv) {
    @NAME@_inputs in;
    @NAME@_outputs out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    const char *weights = text_of(argc, argv, "--weights"), *steps = text_of(argc, argv, "--steps");
    if (weights == NULL) weights = "@NAME@.bin";
    @INIT@
@READ@    const long count = steps ? strtol(steps, NULL, 10) : 1;
    double least = 0, all = 0;
    for (long i = 0; i < count; i++) {
        struct timespec start, end;
        timespec_get(&start, TIME_UTC);
        if (@RUN@ != 0) {
            fprintf(stderr, "%s\n", @ERROR@);
            return 1;
        }
        timespec_get(&end, TIME_UTC);
        const double took = 1e6 * (double)(end.tv_sec - start.tv_sec) + 1e-3 * (double)(end.tv_nsec - start.tv_nsec);
        if (i == 0 || took < least) least = took;
        all += took;
    }
    if (steps) printf("%.1f us a step, %.1f us at least\n", all / (double)(count > 0 ? count : 1), least);
@WRITE@    const char *save = text_of(argc, argv, "--save");
    if (save && @SAVE@ != 0) refuse(save, "cannot be written");
    return 0;
}
