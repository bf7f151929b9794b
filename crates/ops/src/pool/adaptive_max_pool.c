// The greatest elements of windows that cover three axes, with their places; sizes are the old and the new ones.
static inline void fl_adaptive_max_pool_$t(const $T *x, $T *y, int64_t *places, int64_t planes, const int64_t *n) {
    const int64_t windows = n[3] * n[4] * n[5];
    FL_EACH(i, planes * windows) {
        const int64_t window = i % windows, at[3] = {window / (n[4] * n[5]), window / n[5] % n[4], window % n[5]};
        const $T *of = x + i / windows * n[0] * n[1] * n[2];
        int64_t from[3], to[3], best = -1;
        for (int axis = 0; axis < 3; axis++) {
            from[axis] = at[axis] * n[axis] / n[3 + axis];
            to[axis] = ((at[axis] + 1) * n[axis] + n[3 + axis] - 1) / n[3 + axis];
        }
        $T most = 0;
        for (int64_t a = from[0]; a < to[0]; a++)
            for (int64_t b = from[1]; b < to[1]; b++)
                for (int64_t c = from[2]; c < to[2]; c++) {
                    const int64_t place = (a * n[1] + b) * n[2] + c;
                    if (best < 0 || of[place] > most || (of[place] != of[place] && most == most)) {
                        most = of[place];
                        best = place;
                    }
                }
        y[i] = most;
        places[i] = best;
    }
}
