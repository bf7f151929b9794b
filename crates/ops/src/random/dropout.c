// Keeps elements of which the word is below a threshold; the words are those of groups of so many elements.
static inline void fl_dropout_$t(const $T *x, const int64_t *stream, $T *y, int64_t count, int64_t each, int64_t threshold,
                                 double scale, double shift, double floor) {
    FL_EACH(block, (count + 3) / 4) {
        const int64_t i = 4 * block;
        uint32_t words[4];
        fl_philox(stream, (uint64_t)block, words);
        for (int64_t j = i; j < i + 4 && j < count; j++) {
            const int kept = (int64_t)words[j - i] < threshold;
            for (int64_t k = j * each; k < (j + 1) * each; k++) y[k] = kept ? x[k] * ($T)scale + ($T)shift : ($T)floor;
        }
    }
}
