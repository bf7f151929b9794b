// Scores that are scaled, and masked: by what is added, by what holds, by what is behind.
FL_KERNEL void fl_masked_$t($T *scores, const $T *mask, const uint8_t *holds, int64_t down, int64_t across, int64_t causal,
                            double scale, int64_t queries, int64_t keys) {
    FL_EACH(i, queries) {
        for (int64_t j = 0; j < keys; j++) {
            $T score = scores[i * keys + j] * ($T)scale;
            if (holds && !holds[i * down + j * across]) score = -INFINITY;
            if (mask) score += mask[i * down + j * across];
            scores[i * keys + j] = causal && j > i ? -INFINITY : score;
        }
    }
}
// The scores of all queries of one head for all keys.
static inline FL_HOST void fl_scores_$t(FL_TAKES const $T *q, const $T *k, const $T *mask, const uint8_t *holds,
                                        const int64_t *steps, int64_t causal, double scale, int64_t queries, int64_t keys,
                                        int64_t width, $T *scores) {
    fl_gemm_$t(FL_GIVES 0, 1, queries, keys, width, q, width, k, width, scores, keys, 0);
    FL_CALL(fl_masked_$t, queries, scores, mask, holds, steps[0], steps[1], causal, scale, queries, keys);
}
// Scores become weights that add up to one; and the logarithms of what they added up to, if these are wanted.
FL_KERNEL void fl_weights_$t($T *scores, $T *logs, int64_t queries, int64_t keys) {
    FL_EACH(i, queries) {
        $T *row = scores + i * keys, most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; j++) most = fl_max_$t(most, row[j]);
        const $T level = most == -INFINITY ? 0 : most;
        FL_IVDEP
        for (int64_t j = 0; j < keys; j++) row[j] = fl_exp_$t(row[j] - level);
        FL_SUM(sum)
        for (int64_t j = 0; j < keys; j++) sum += row[j];
        const $T factor = sum == 0 ? 0 : 1 / sum;
        for (int64_t j = 0; j < keys; j++) row[j] *= factor;
        if (logs) logs[i] = level + fl_log_$t(sum);
    }
}
// Where head number `number` of a batch begins, if heads are shared by so many.
static inline FL_BOTH int64_t fl_head_$t(int64_t number, int64_t rank, const int64_t *sizes, const int64_t *steps, int64_t shared) {
    int64_t at = 0;
    for (int64_t axis = rank - 1; axis >= 0; axis--) {
        const int64_t here = number % sizes[axis];
        at += (axis == rank - 1 ? here / shared : here) * steps[axis];
        number /= sizes[axis];
    }
    return at;
}
static inline FL_HOST void fl_attention_$t(FL_TAKES const $T *q, const $T *k, const $T *v, const $T *mask, const uint8_t *holds, $T *y, $T *logs,
                                   $T *scores, int64_t rank, const int64_t *sizes, const int64_t *steps_q,
                                   const int64_t *steps_k, const int64_t *steps_v, const int64_t *steps_mask, int64_t shared,
                                   int64_t queries, int64_t keys, int64_t width, int64_t depth, int64_t causal, double scale) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    for (int64_t at = 0; at < count; at++) {
        const $T *own_q = q + fl_head_$t(at, rank, sizes, steps_q, 1), *own_k = k + fl_head_$t(at, rank, sizes, steps_k, shared);
        const $T *own_v = v + fl_head_$t(at, rank, sizes, steps_v, shared);
        const int64_t from = mask || holds ? fl_head_$t(at, rank, sizes, steps_mask, 1) : 0;
        fl_scores_$t(FL_GIVES own_q, own_k, mask ? mask + from : NULL, holds ? holds + from : NULL, steps_mask + rank, causal, scale,
                     queries, keys, width, scores);
        FL_CALL(fl_weights_$t, queries, scores, logs ? logs + at * queries : NULL, queries, keys);
        fl_gemm_$t(FL_GIVES 0, 0, queries, depth, keys, scores, keys, own_v, depth, y + at * queries * depth, depth, 0);
    }
}
