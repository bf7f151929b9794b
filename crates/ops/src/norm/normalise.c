// Rows of so many elements are centred, unless they are not to be, and scaled. The weight of element j of row i is number
// (i % groups * size + j) / each.
static inline void fl_normalise_$t(const $T *x, const $T *weight, const $T *bias, $T *y, $T *means, $T *scales, int64_t rows,
                                   int64_t size, int64_t groups, int64_t each, int64_t centre, double eps) {
    FL_EACH(i, rows) {
        const $T *row = x + i * size;
        double sum = 0, squares = 0;
        if (centre) {
            FL_SUM(sum)
            for (int64_t j = 0; j < size; j++) sum += (double)row[j];
        }
        const double mean = centre ? sum / (double)size : 0;
        FL_SUM(squares)
        for (int64_t j = 0; j < size; j++) squares += ((double)row[j] - mean) * ((double)row[j] - mean);
        const double scale = 1 / sqrt(squares / (double)size + eps);
        const $T level = ($T)mean, factor = ($T)scale;
        if (means) means[i] = level;
        if (scales) scales[i] = factor;
        for (int64_t j = 0; j < size; j++) y[i * size + j] = (row[j] - level) * factor;
        if (weight || bias) {
            const int64_t from = i % groups * size;
            for (int64_t k = 0; k < size; k += each) {
                const $T w = weight ? weight[(from + k) / each] : 1, b = bias ? bias[(from + k) / each] : 0;
                for (int64_t j = k; j < k + each; j++) y[i * size + j] = y[i * size + j] * w + b;
            }
        }
    }
}
