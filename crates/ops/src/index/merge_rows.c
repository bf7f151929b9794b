static inline const char *fl_merge_rows_$t(const uint8_t *mask, const $T *yes, const $T *no, $T *y, int64_t rows, int64_t n_yes,
                                           int64_t n_no, int64_t width) {
    int64_t at_yes = 0, at_no = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (mask[i] ? at_yes == n_yes : at_no == n_no) return "the mask does not fit the rows";
        const $T *from = mask[i] ? yes + at_yes++ * width : no + at_no++ * width;
        memcpy(y + i * width, from, sizeof($T) * (size_t)width);
    }
    return at_yes == n_yes && at_no == n_no ? NULL : "the mask does not fit the rows";
}
