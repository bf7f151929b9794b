// Where the matrix i of a batch begins, whose axes have these sizes and lie so far apart.
static inline FL_BOTH int64_t fl_batch_$t(int64_t i, int64_t rank, const int64_t *sizes, const int64_t *steps) {
    int64_t at = 0;
    for (int64_t axis = rank - 1; axis >= 0; axis--) {
        at += i % sizes[axis] * steps[axis];
        i /= sizes[axis];
    }
    return at;
}
