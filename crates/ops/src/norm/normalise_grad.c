// The cotangents of rows, as in the function for the values, and sums of those of weights and biases.
static inline void fl_normalise_grad_$t(const $T *dy, const $T *x, const $T *means, const $T *scales, const $T *weight, $T *dx,
                                        $T *dweight, $T *dbias, int64_t n_params, int64_t rows, int64_t size, int64_t groups,
                                        int64_t each, int64_t centre) {
    if (dweight) FL_CLEAR(dweight, n_params);
    if (dbias) FL_CLEAR(dbias, n_params);
    FL_SYNC;
    FL_EACH(i, rows) {
        const $T level = means ? means[i] : 0, factor = scales[i];
        const $T *row = x + i * size, *of = dy + i * size;
        $T *to = dx + i * size;
        const int64_t from = i % groups * size;
        double sum = 0, along = 0;
        for (int64_t k = 0; k < size; k += each) {
            const int64_t param = (from + k) / each;
            const $T w = weight ? weight[param] : 1;
            $T part = 0, whole = 0;
            for (int64_t j = k; j < k + each; j++) {
                const $T place = (row[j] - level) * factor;
                part += of[j] * place;
                whole += of[j];
            }
            sum += (double)(whole * w);
            along += (double)(part * w);
            if (dweight) FL_ADD(dweight[param], part);
            if (dbias) FL_ADD(dbias[param], whole);
        }
        const $T mean = ($T)(centre ? sum / (double)size : 0), share = ($T)(along / (double)size);
        for (int64_t k = 0; k < size; k += each) {
            const $T w = weight ? weight[(from + k) / each] : 1;
            for (int64_t j = k; j < k + each; j++) {
                const $T place = (row[j] - level) * factor;
                to[j] = (of[j] * w - mean - place * share) * factor;
            }
        }
    }
}
