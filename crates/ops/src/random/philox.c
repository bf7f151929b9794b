// Philox4x32-10: four words from a key and a counter.
#ifndef FL_PHILOX
#define FL_PHILOX
static inline void fl_philox(const int64_t *stream, uint64_t block, uint32_t *words) {
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)(uint64_t)stream[1],
                     (uint32_t)((uint64_t)stream[1] >> 32)};
    uint32_t k0 = (uint32_t)(uint64_t)stream[0], k1 = (uint32_t)((uint64_t)stream[0] >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t even = UINT64_C(0xd2511f53) * c[0], odd = UINT64_C(0xcd9e8d57) * c[2];
        const uint32_t c0 = (uint32_t)(odd >> 32) ^ c[1] ^ k0, c2 = (uint32_t)(even >> 32) ^ c[3] ^ k1;
        c[0] = c0;
        c[1] = (uint32_t)odd;
        c[2] = c2;
        c[3] = (uint32_t)even;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    memcpy(words, c, sizeof c);
}
// Number i of the fractions of 53 bits, of which each block has two.
static inline double fl_unit(const int64_t *stream, int64_t i) {
    uint32_t words[4];
    fl_philox(stream, (uint64_t)i / 2, words);
    const int at = i % 2 * 2;
    return (double)(((uint64_t)words[at + 1] << 32 | words[at]) >> 11) * 0x1p-53;
}
#endif
