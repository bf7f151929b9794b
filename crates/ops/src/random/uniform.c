static inline void fl_uniform_$t(const int64_t *stream, $T *y, int64_t count, double low, double high) {
    FL_EACH(i, count) {
        double unit;
        if (sizeof($T) == 8) {
            unit = fl_unit(stream, i);
        } else {
            uint32_t words[4];
            fl_philox(stream, (uint64_t)i / 4, words);
            unit = (double)(words[i % 4] >> 8) * 0x1p-24;
        }
        const $T value = ($T)(low + unit * (high - low));
        y[i] = (double)value < high ? value : ($T)low;
    }
}
