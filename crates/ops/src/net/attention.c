// The scores of all queries of one head for all keys.
static inline void fl_scores_$t(const $T *q, const $T *k, const $T *mask, const uint8_t *holds, const int64_t *steps,
                                int64_t causal, double scale, int64_t queries, int64_t keys, int64_t width, $T *scores) {
    fl_gemm_$t(0, 1, queries, keys, width, q, width, k, width, scores, keys, 0);
    for (int64_t i = 0; i < queries; i++) {
        for (int64_t j = 0; j < keys; j++) {
            $T score = scores[i * keys + j] * ($T)scale;
            if (holds && !holds[i * steps[0] + j * steps[1]]) score = -INFINITY;
            if (mask) score += mask[i * steps[0] + j * steps[1]];
            scores[i * keys + j] = causal && j > i ? -INFINITY : score;
        }
    }
}
// Where head number `number` of a batch begins, if heads are shared by so many.
static inline int64_t fl_head_$t(int64_t number, int64_t rank, const int64_t *sizes, const int64_t *steps, int64_t shared) {
    int64_t at = 0;
    for (int64_t axis = rank - 1; axis >= 0; axis--) {
        const int64_t here = number % sizes[axis];
        at += (axis == rank - 1 ? here / shared : here) * steps[axis];
        number /= sizes[axis];
    }
    return at;
}
static inline void fl_attention_$t(const $T *q, const $T *k, const $T *v, const $T *mask, const uint8_t *holds, $T *y, $T *logs,
                                   $T *scores, int64_t rank, const int64_t *sizes, const int64_t *steps_q,
                                   const int64_t *steps_k, const int64_t *steps_v, const int64_t *steps_mask, int64_t shared,
                                   int64_t queries, int64_t keys, int64_t width, int64_t depth, int64_t causal, double scale) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    for (int64_t at = 0; at < count; at++) {
        const $T *own_q = q + fl_head_$t(at, rank, sizes, steps_q, 1), *own_k = k + fl_head_$t(at, rank, sizes, steps_k, shared);
        const $T *own_v = v + fl_head_$t(at, rank, sizes, steps_v, shared);
        const int64_t from = mask || holds ? fl_head_$t(at, rank, sizes, steps_mask, 1) : 0;
        fl_scores_$t(own_q, own_k, mask ? mask + from : NULL, holds ? holds + from : NULL, steps_mask + rank, causal, scale,
                     queries, keys, width, scores);
        for (int64_t i = 0; i < queries; i++) {
            $T *row = scores + i * keys, most = -INFINITY, sum = 0;
            for (int64_t j = 0; j < keys; j++) most = fl_max_$t(most, row[j]);
            const $T level = most == -INFINITY ? 0 : most;
            FL_IVDEP
            for (int64_t j = 0; j < keys; j++) row[j] = fl_exp_$t(row[j] - level);
            FL_SUM(sum)
            for (int64_t j = 0; j < keys; j++) sum += row[j];
            const $T factor = sum == 0 ? 0 : 1 / sum;
            for (int64_t j = 0; j < keys; j++) row[j] *= factor;
            if (logs) logs[at * queries + i] = level + fl_log_$t(sum);
        }
        fl_gemm_$t(0, 0, queries, depth, keys, scores, keys, own_v, depth, y + at * queries * depth, depth, 0);
    }
}
