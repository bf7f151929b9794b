// Windows on three axes: sizes, kernel, windows, strides, padding, dilation.
#ifndef FL_POOL
#define FL_POOL
// The range of places of the kernel that are inside, along one axis.
static inline void fl_inside(const int64_t *n, int axis, int64_t window, int64_t *first, int64_t *from, int64_t *to) {
    *first = window * n[9 + axis] - n[12 + axis];
    const int64_t step = n[15 + axis], rest = n[axis] - *first;
    *from = *first < 0 ? (-*first + step - 1) / step : 0;
    *to = rest > 0 ? (rest + step - 1) / step : 0;
    if (*from > n[3 + axis]) *from = n[3 + axis];
    if (*to > n[3 + axis]) *to = n[3 + axis];
    if (*to < *from) *to = *from;
}
#endif
