#ifndef FL_TAPS
#define FL_TAPS
// How an axis gets another size: modes are nearest, nearest-exact, linear, cubic and area; a scale of zero is that of the sizes.
typedef struct fl_taps {
    int64_t old, size, mode, align_corners;
    double scale;
} fl_taps;

// Of how many old elements a new one is made.
static inline int64_t fl_tap_count(const fl_taps *of, int64_t i) {
    if (of->mode == 4) return ((i + 1) * of->old + of->size - 1) / of->size - i * of->old / of->size;
    return of->mode == 3 ? 4 : of->mode == 2 && of->old != of->size ? 2 : 1;
}

// One of these old elements, and its weight.
static inline int64_t fl_tap(const fl_taps *of, int64_t i, int64_t k, double *weight) {
    const int64_t old = of->old, size = of->size, last = old - 1;
    *weight = 1.0;
    if (of->mode == 4) {
        *weight = 1.0 / (double)fl_tap_count(of, i);
        return i * old / size + k;
    }
    if (of->mode < 2) {
        int64_t at;
        if (of->scale > 0.0) at = (int64_t)fmin(((double)i + (of->mode ? 0.5 : 0.0)) / of->scale, (double)last);
        else at = of->mode ? (2 * i + 1) * old / (2 * size) : i * old / size;
        return at < last ? at : last;
    }
    if (of->mode == 2 && old == size) return i;
    double factor = of->scale > 0.0 ? 1.0 / of->scale : (double)old / (double)size;
    if (of->align_corners) factor = size > 1 ? (double)last / (double)(size - 1) : 0.0;
    double place = of->align_corners ? (double)i * factor : ((double)i + 0.5) * factor - 0.5;
    if (of->mode == 2) {
        place = fmax(place, 0.0);
        int64_t first = (int64_t)fmin(floor(place), (double)last);
        *weight = k ? place - (double)first : 1.0 - (place - (double)first);
        return first + k < last ? first + k : last;
    }
    const double first = floor(place), part = place - first, a = -0.75;
    const double x = k == 0 ? part + 1.0 : k == 1 ? part : k == 2 ? 1.0 - part : 2.0 - part;
    *weight = k == 1 || k == 2 ? ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0 : ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    return (int64_t)fmin(fmax(first + (double)k - 1.0, 0.0), (double)last);
}
#endif

// Gives an axis another size; or, back, adds new elements to the old ones that they were made of.
static inline void fl_resample_$t(const $T *x, $T *y, int64_t outer, int64_t inner, int64_t old, int64_t size, int64_t mode,
                                  int64_t align_corners, double scale, int64_t back) {
    const fl_taps of = {old, size, mode, align_corners, scale};
    const int64_t from_size = back ? size : old, to_size = back ? old : size;
    FL_EACH(o, outer) memset(y + o * to_size * inner, 0, sizeof($T) * (size_t)(to_size * inner));
    for (int64_t i = 0; i < size && old > 0; i++) {
        for (int64_t k = 0; k < fl_tap_count(&of, i); k++) {
            double weight;
            const int64_t at = fl_tap(&of, i, k, &weight), from = back ? i : at, to = back ? at : i;
            FL_EACH(o, outer) {
                const $T *source = x + (o * from_size + from) * inner;
                $T *target = y + (o * to_size + to) * inner;
                for (int64_t j = 0; j < inner; j++) target[j] += source[j] * ($T)weight;
            }
        }
    }
}
