// Adds positions along one axis, of so many, to numbers of elements; the first such call begins them.
static inline const char *fl_ravel_index(const int64_t *index, int64_t *y, int64_t rank, const int64_t *sizes,
                                         const int64_t *steps, int64_t size, int64_t distance, int64_t begins) {
    int64_t count = 1;
    for (int64_t axis = 0; axis < rank; axis++) count *= sizes[axis];
    FL_EACH(i, count) {
        int64_t rest = i, at = 0;
        for (int64_t axis = rank - 1; axis >= 0; axis--) {
            at += rest % sizes[axis] * steps[axis];
            rest /= sizes[axis];
        }
        const int64_t wanted = index[at];
        if (wanted < -size || wanted >= size) return "a position is out of range";
        y[i] = (begins ? 0 : y[i]) + (wanted < 0 ? wanted + size : wanted) * distance;
    }
    return NULL;
}
