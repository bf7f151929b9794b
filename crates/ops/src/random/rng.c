static inline void fl_rng(const int64_t *stream, int64_t *next, int64_t steps, int64_t first) {
    next[0] = stream[0];
    next[1] = steps ? (int64_t)((uint64_t)stream[1] + (uint64_t)steps) : first;
}
