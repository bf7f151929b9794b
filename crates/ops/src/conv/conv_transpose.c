static inline FL_HOST void fl_conv_transpose_$t(FL_TAKES const $T *x, const $T *weight, $T *y, $T *columns, const int64_t *numbers,
                                        int64_t batch, int64_t groups, int64_t ins, int64_t outs) {
    const fl_windows w = fl_windows_of(numbers);
    const int64_t plane = fl_product_$t(w.size), windows = fl_product_$t(w.count), depth = outs * fl_product_$t(w.kernel);
    FL_ZERO(y, sizeof($T) * (size_t)(batch * groups * outs * plane));
    for (int64_t i = 0; i < batch * groups; i++) {
        fl_gemm_$t(FL_GIVES 1, 0, depth, windows, ins, weight + i % groups * ins * depth, depth, x + i * ins * windows, windows,
                   columns, windows, 0);
        FL_CALL(fl_columns_$t, outs, y + i * outs * plane, columns, outs, w, 1);
    }
}
