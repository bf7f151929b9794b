static inline const char *fl_last_writes(const int64_t *index, uint8_t *y, unsigned char *seen, int64_t size, int64_t count) {
    memset(seen, 0, (size_t)size);
    for (int64_t j = count - 1; j >= 0; j--) {
        if (index[j] < -size || index[j] >= size) return "a position is out of range";
        const int64_t at = index[j] < 0 ? index[j] + size : index[j];
        y[j] = !seen[at];
        seen[at] = 1;
    }
    return NULL;
}
