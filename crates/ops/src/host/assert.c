static inline const char *fl_assert_$t(const $T *condition, int64_t count, const char *text) {
    for (int64_t i = 0; i < count; i++) {
        if (!condition[i]) return text;
    }
    return NULL;
}
