static inline void fl_normalise_batch_grad_$t(const $T *dy, const $T *x, const $T *means, const $T *variances, const $T *weight,
                                              $T *dx, $T *dweight, $T *dbias, int64_t batch, int64_t channels, int64_t inner,
                                              double eps) {
    const double count = (double)(batch * inner);
    FL_EACH(c, channels) {
        const $T level = means[c], factor = ($T)(1 / sqrt((double)variances[c] + eps)), w = weight ? weight[c] : 1;
        double whole = 0, part = 0;
        for (int64_t b = 0; b < batch; b++) {
            const int64_t at = (b * channels + c) * inner;
            FL_SUM(whole)
            for (int64_t j = 0; j < inner; j++) whole += (double)dy[at + j];
            FL_SUM(part)
            for (int64_t j = 0; j < inner; j++) part += (double)(dy[at + j] * ((x[at + j] - level) * factor));
        }
        if (dweight) dweight[c] = ($T)part;
        if (dbias) dbias[c] = ($T)whole;
        const $T mean = ($T)(whole / count), share = ($T)(part / count);
        for (int64_t b = 0; b < batch; b++) {
            const int64_t at = (b * channels + c) * inner;
            for (int64_t j = 0; j < inner; j++) {
                dx[at + j] = (dy[at + j] - mean - (x[at + j] - level) * factor * share) * (factor * w);
            }
        }
    }
}
