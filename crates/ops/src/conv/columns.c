// How windows lie on three axes: sizes, kernel, windows, strides, padding before, dilation.
#ifndef FL_WINDOWS
#define FL_WINDOWS
typedef struct fl_windows {
    int64_t size[3], kernel[3], count[3], stride[3], before[3], dilation[3];
} fl_windows;
static inline FL_BOTH fl_windows fl_windows_of(const int64_t *numbers) {
    fl_windows w;
    for (int axis = 0; axis < 3; axis++) {
        w.size[axis] = numbers[axis];
        w.kernel[axis] = numbers[3 + axis];
        w.count[axis] = numbers[6 + axis];
        w.stride[axis] = numbers[9 + axis];
        w.before[axis] = numbers[12 + axis];
        w.dilation[axis] = numbers[15 + axis];
    }
    return w;
}
#endif
// The elements under each place of the kernel as a row with a column for each window; or, if `back`, such rows added up
// again.
FL_KERNEL void fl_columns_$t($T *image, $T *columns, int64_t channels, fl_windows w, int back) {
    const int64_t inner = w.count[2], places = w.kernel[0] * w.kernel[1] * w.kernel[2];
    // What different places of the kernel give to one image is added up in order.
    FL_EACH(part, back ? channels : channels * places) {
        const int64_t first = back ? part * places : part, end = back ? first + places : first + 1;
        $T *plane = image + first / places * w.size[0] * w.size[1] * w.size[2];
        for (int64_t at = first; at < end; at++) {
            const int64_t place = at % places, d = place % w.kernel[2];
            const int64_t b = place / w.kernel[2] % w.kernel[1], a = place / (w.kernel[2] * w.kernel[1]);
            $T *to_columns = columns + at * w.count[0] * w.count[1] * inner;
            for (int64_t i = 0; i < w.count[0]; i++) {
                const int64_t y = i * w.stride[0] + a * w.dilation[0] - w.before[0];
                for (int64_t j = 0; j < w.count[1]; j++, to_columns += inner) {
                    const int64_t x = j * w.stride[1] + b * w.dilation[1] - w.before[1];
                    const int inside = y >= 0 && y < w.size[0] && x >= 0 && x < w.size[1];
                    $T *row = inside ? plane + (y * w.size[1] + x) * w.size[2] : plane;
                    const int64_t shift = d * w.dilation[2] - w.before[2], step = w.stride[2];
                    int64_t from = shift < 0 ? (-shift + step - 1) / step : 0;
                    int64_t to = w.size[2] - shift > 0 ? (w.size[2] - shift + step - 1) / step : 0;
                    to = inside ? (to < inner ? to : inner) : 0;
                    from = from < to ? from : to;
                    if (back) {
                        for (int64_t k = from; k < to; k++) row[k * step + shift] += to_columns[k];
                        continue;
                    }
                    for (int64_t k = 0; k < from; k++) to_columns[k] = 0;
                    if (step == 1 && to > from) {
                        memcpy(to_columns + from, row + from + shift, sizeof($T) * (size_t)(to - from));
                    } else {
                        for (int64_t k = from; k < to; k++) to_columns[k] = row[k * step + shift];
                    }
                    for (int64_t k = to; k < inner; k++) to_columns[k] = 0;
                }
            }
        }
    }
}
static inline FL_BOTH int64_t fl_product_$t(const int64_t *numbers) { return numbers[0] * numbers[1] * numbers[2]; }
