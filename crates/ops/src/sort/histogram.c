static inline double fl_edge_$t(int64_t i, int64_t bins, double low, double high) {
    return i == bins ? high : low + (high - low) * (double)i / (double)bins;
}
static inline void fl_histogram_$t(const $T *x, int64_t *y, int64_t count, int64_t bins, double low, double high) {
    memset(y, 0, sizeof(int64_t) * (size_t)bins);
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)x[i];
        if (!(value >= low && value <= high)) continue;
        int64_t bin = (int64_t)((value - low) / (high - low) * (double)bins);
        // Rounding may have led next door.
        bin = bin < bins ? bin : bins - 1;
        if (value < fl_edge_$t(bin, bins, low, high)) bin -= 1;
        else if (bin + 1 < bins && value >= fl_edge_$t(bin + 1, bins, low, high)) bin += 1;
        y[bin] += 1;
    }
}
