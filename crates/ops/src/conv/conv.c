static inline FL_HOST void fl_conv_$t(FL_TAKES const $T *x, const $T *weight, $T *y, $T *columns, const int64_t *numbers, int64_t batch,
                              int64_t groups, int64_t ins, int64_t outs) {
    const fl_windows w = fl_windows_of(numbers);
    const int64_t plane = fl_product_$t(w.size), windows = fl_product_$t(w.count), depth = ins * fl_product_$t(w.kernel);
    for (int64_t i = 0; i < batch * groups; i++) {
        FL_CALL(fl_columns_$t, depth, ($T *)(uintptr_t)(x + i * ins * plane), columns, ins, w, 0);
        fl_gemm_$t(FL_GIVES 0, 0, outs, windows, depth, weight + i % groups * outs * depth, depth, columns, windows,
                   y + i * outs * windows, windows, 0);
    }
}
