// By the method of Box and Muller.
static inline void fl_normal_$t(const int64_t *stream, $T *y, int64_t count, double mean, double std) {
    const double turn = 6.28318530717958648;
    if (sizeof($T) == 8) {
        FL_EACH(pair, (count + 1) / 2) {
            const int64_t i = 2 * pair;
            const double radius = sqrt(-2 * log(1 - fl_unit(stream, i))), angle = turn * fl_unit(stream, i + 1);
            y[i] = ($T)(mean + std * (radius * cos(angle)));
            if (i + 1 < count) y[i + 1] = ($T)(mean + std * (radius * sin(angle)));
        }
        return;
    }
    FL_EACH(block, (count + 3) / 4) {
        const int64_t i = 4 * block;
        uint32_t words[4];
        fl_philox(stream, (uint64_t)block, words);
        for (int64_t j = 0; j < 4 && i + j < count; j++) {
            const uint32_t a = words[j / 2 * 2], b = words[j / 2 * 2 + 1];
            const float fraction = ((float)a + 0.5f) * 0x1p-32f, radius = sqrtf(-2.0f * fl_log_f32(fraction));
            const double angle = turn * ((double)b * 0x1p-32);
            const float value = radius * (float)(j % 2 ? sin(angle) : cos(angle));
            y[i + j] = ($T)(mean + std * (double)value);
        }
    }
}
