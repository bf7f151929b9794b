// Channels over a batch.
static inline void fl_normalise_batch_$t(const $T *x, const $T *weight, const $T *bias, $T *y, $T *means, $T *variances,
                                         int64_t batch, int64_t channels, int64_t inner, double eps) {
    FL_EACH(c, channels) {
        double sum = 0, squares = 0;
        const double count = (double)(batch * inner);
        for (int64_t b = 0; b < batch; b++) {
            const $T *row = x + (b * channels + c) * inner;
            FL_SUM(sum)
            for (int64_t j = 0; j < inner; j++) sum += (double)row[j];
        }
        const double mean = sum / count;
        for (int64_t b = 0; b < batch; b++) {
            const $T *row = x + (b * channels + c) * inner;
            FL_SUM(squares)
            for (int64_t j = 0; j < inner; j++) squares += ((double)row[j] - mean) * ((double)row[j] - mean);
        }
        const double variance = squares / count;
        const $T w = weight ? weight[c] : 1, shift = bias ? bias[c] : 0;
        const $T level = ($T)mean, factor = ($T)(1 / sqrt(variance + eps)) * w;
        if (means) means[c] = level;
        if (variances) variances[c] = ($T)variance;
        for (int64_t b = 0; b < batch; b++) {
            const int64_t at = (b * channels + c) * inner;
            for (int64_t j = 0; j < inner; j++) y[at + j] = (x[at + j] - level) * factor + shift;
        }
    }
}
