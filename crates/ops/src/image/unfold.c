// The columns of images; or, if `back`, columns added up to images again.
static inline void fl_unfold_$t(const $T *from, $T *to, const int64_t *numbers, int64_t batch, int64_t channels, int64_t back) {
    const fl_windows w = fl_windows_of(numbers);
    const int64_t image = channels * fl_product_$t(w.size);
    const int64_t columns = channels * fl_product_$t(w.kernel) * fl_product_$t(w.count);
    if (back) memset(to, 0, sizeof($T) * (size_t)(batch * image));
    for (int64_t i = 0; i < batch; i++) {
        if (back) fl_columns_$t(to + i * image, ($T *)(uintptr_t)(from + i * columns), channels, w, 1);
        else fl_columns_$t(($T *)(uintptr_t)(from + i * image), to + i * columns, channels, w, 0);
    }
}
