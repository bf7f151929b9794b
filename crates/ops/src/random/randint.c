static inline void fl_randint_$t(const int64_t *stream, $T *y, int64_t count, int64_t low, int64_t high) {
    const uint64_t width = (uint64_t)high - (uint64_t)low;
    FL_EACH(i, count) {
        uint32_t words[4];
        fl_philox(stream, (uint64_t)i / 2, words);
        // The upper half of the product of two numbers of 64 bits, from products of halves.
        const uint64_t a = words[i % 2 * 2], b = words[i % 2 * 2 + 1], c = width & 0xffffffffu, d = width >> 32;
        const uint64_t middle = b * c + (a * c >> 32), other = a * d + (middle & 0xffffffffu);
        y[i] = ($T)((uint64_t)low + b * d + (middle >> 32) + (other >> 32));
    }
}
