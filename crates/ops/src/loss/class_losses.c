// The losses of rows, and how they change with the logits, if these are wanted.
static inline const char *fl_class_losses_$t(const $T *x, const int64_t *labels, $T *losses, $T *slopes, int64_t rows,
                                             int64_t classes, int64_t ignored) {
    FL_EACH(i, rows) {
        const $T *row = x + i * classes;
        if (labels[i] == ignored) {
            losses[i] = 0;
            if (slopes) memset(slopes + i * classes, 0, sizeof($T) * (size_t)classes);
            continue;
        }
        if (labels[i] < 0 || labels[i] >= classes) return "a label is not a class";
        $T most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < classes; j++) most = fl_max_$t(most, row[j]);
        if (slopes) {
            $T *slope = slopes + i * classes;
            FL_IVDEP
            for (int64_t j = 0; j < classes; j++) slope[j] = fl_exp_$t(row[j] - most);
            FL_SUM(sum)
            for (int64_t j = 0; j < classes; j++) sum += slope[j];
            const $T inverse = 1 / sum;
            for (int64_t j = 0; j < classes; j++) slope[j] *= inverse;
            slope[labels[i]] -= 1;
        } else {
            FL_SUM(sum)
            for (int64_t j = 0; j < classes; j++) sum += fl_exp_$t(row[j] - most);
        }
        losses[i] = fl_log_$t(sum) - (row[labels[i]] - most);
    }
    return NULL;
}
