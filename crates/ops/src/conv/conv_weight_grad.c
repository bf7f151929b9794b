static inline FL_HOST void fl_conv_weight_grad_$t(FL_TAKES const $T *x, const $T *dy, $T *dweight, $T *columns, const int64_t *numbers,
                                          int64_t batch, int64_t groups, int64_t ins, int64_t outs) {
    const fl_windows w = fl_windows_of(numbers);
    const int64_t plane = fl_product_$t(w.size), windows = fl_product_$t(w.count), depth = ins * fl_product_$t(w.kernel);
    FL_ZERO(dweight, sizeof($T) * (size_t)(groups * outs * depth));
    for (int64_t i = 0; i < batch * groups; i++) {
        FL_CALL(fl_columns_$t, depth, ($T *)(uintptr_t)(x + i * ins * plane), columns, ins, w, 0);
        fl_gemm_$t(FL_GIVES 0, 1, outs, depth, windows, dy + i * outs * windows, windows, columns, windows,
                   dweight + i % groups * outs * depth, depth, 1);
    }
}
