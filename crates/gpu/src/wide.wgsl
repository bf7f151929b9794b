// By halves of 16 bits, since some drivers take a number of 32 bits without a sign for one with a sign.
fn join(x: vec2<u32>) -> i64 {
    return (i64(bitcast<i32>(x.y)) * 65536li + i64(x.x >> 16u)) * 65536li + i64(x.x & 0xffffu);
}
fn split(x: i64) -> vec2<u32> { return vec2<u32>(u32(x & 4294967295li), u32((x >> 32u) & 4294967295li)); }
fn i64_of(x: f32) -> i64 {
    if (is_nan(x)) { return 0li; }
    if (x >= 9223372036854775808.0) { return 9223372036854775807li; }
    if (x < -9223372036854775808.0) { return -9223372036854775807li - 1li; }
    return i64(x);
}
