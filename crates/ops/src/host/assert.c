static inline const char *fl_assert_$t(const $T *condition, int64_t count, const char *text) {
    FL_EACH(i, count) {
        if (!condition[i]) return text;
    }
    return NULL;
}
