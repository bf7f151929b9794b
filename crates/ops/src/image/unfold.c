// The columns of images; or, if `back`, columns added up to images again.
static inline FL_HOST void fl_unfold_$t(FL_TAKES const $T *from, $T *to, const int64_t *numbers, int64_t batch, int64_t channels, int64_t back) {
    const fl_windows w = fl_windows_of(numbers);
    const int64_t image = channels * fl_product_$t(w.size);
    const int64_t columns = channels * fl_product_$t(w.kernel) * fl_product_$t(w.count);
    if (back) FL_ZERO(to, sizeof($T) * (size_t)(batch * image));
    for (int64_t i = 0; i < batch; i++) {
        if (back) FL_CALL(fl_columns_$t, channels, to + i * image, ($T *)(uintptr_t)(from + i * columns), channels, w, 1);
        else FL_CALL(fl_columns_$t, channels * fl_product_$t(w.kernel), ($T *)(uintptr_t)(from + i * image), to + i * columns, channels, w, 0);
    }
}
