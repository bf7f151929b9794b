static inline void fl_searchsorted_$t(const $T *sorted, const $T *values, int64_t *y, int64_t lanes, int64_t size, int64_t count,
                                      int64_t right) {
    FL_EACH(i, lanes * count) {
        const $T *lane = sorted + i / count * size, value = values[i];
        int64_t low = 0, high = size;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            const int before = right ? !fl_before_$t(value, lane[middle], 0) : fl_before_$t(lane[middle], value, 0);
            if (before) low = middle + 1;
            else high = middle;
        }
        y[i] = low;
    }
}
