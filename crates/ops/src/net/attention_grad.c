// Weights from scores, and the cotangents of scores from those of weights.
FL_KERNEL void fl_by_scores_$t($T *scores, $T *by_scores, const $T *dy, const $T *y, const $T *logs, int64_t queries,
                               int64_t keys, int64_t depth, double scale) {
    FL_EACH(i, queries) {
        const $T log = logs[i], level = log == -INFINITY ? 0 : log;
        $T mean = 0;
        for (int64_t j = 0; j < depth; j++) mean += dy[i * depth + j] * y[i * depth + j];
        FL_IVDEP
        for (int64_t j = 0; j < keys; j++) {
            const $T weight = fl_exp_$t(scores[i * keys + j] - level);
            scores[i * keys + j] = weight;
            by_scores[i * keys + j] = weight * (by_scores[i * keys + j] - mean) * ($T)scale;
        }
    }
}
static inline FL_HOST void fl_attention_grad_$t(FL_TAKES const $T *dy, const $T *q, const $T *k, const $T *v, const $T *y, const $T *logs,
                                        const $T *mask, const uint8_t *holds, $T *dq, $T *dk, $T *dv, $T *work, int64_t rank,
                                        const int64_t *sizes, const int64_t *steps_q, const int64_t *steps_k,
                                        const int64_t *steps_v, const int64_t *steps_mask, int64_t shared, int64_t queries,
                                        int64_t keys, int64_t width, int64_t depth, int64_t causal, double scale,
                                        int64_t all_q, int64_t all_k, int64_t all_v) {
    int64_t count = 1;
    $T *scores = work, *by_scores = work + queries * keys;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    FL_ZERO(dq, sizeof($T) * (size_t)all_q);
    FL_ZERO(dk, sizeof($T) * (size_t)all_k);
    FL_ZERO(dv, sizeof($T) * (size_t)all_v);
    for (int64_t at = 0; at < count; at++) {
        const int64_t at_q = fl_head_$t(at, rank, sizes, steps_q, 1), at_k = fl_head_$t(at, rank, sizes, steps_k, shared);
        const int64_t at_v = fl_head_$t(at, rank, sizes, steps_v, shared);
        const int64_t from = mask || holds ? fl_head_$t(at, rank, sizes, steps_mask, 1) : 0;
        const $T *own_dy = dy + at * queries * depth, *own_y = y + at * queries * depth;
        fl_scores_$t(FL_GIVES q + at_q, k + at_k, mask ? mask + from : NULL, holds ? holds + from : NULL, steps_mask + rank, causal,
                     scale, queries, keys, width, scores);
        fl_gemm_$t(FL_GIVES 0, 1, queries, keys, depth, own_dy, depth, v + at_v, depth, by_scores, keys, 0);
        FL_CALL(fl_by_scores_$t, queries, scores, by_scores, own_dy, own_y, logs + at * queries, queries, keys, depth, scale);
        fl_gemm_$t(FL_GIVES 0, 0, queries, width, keys, by_scores, keys, k + at_k, width, dq + at_q, width, 1);
        fl_gemm_$t(FL_GIVES 1, 0, keys, width, queries, by_scores, keys, q + at_q, width, dk + at_k, width, 1);
        fl_gemm_$t(FL_GIVES 1, 0, keys, depth, queries, scores, keys, own_dy, depth, dv + at_v, depth, 1);
    }
}
