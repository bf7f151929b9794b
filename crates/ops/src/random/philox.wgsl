// The product of two numbers, as its upper and its lower half.
fn product(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
    return vec2<u32>((a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u), a * b);
}
// Philox4x32-10: four words start a key and a counter.
fn philox(block: u32) -> vec4<u32> {
    let stream = $stream[1];
    var c = vec4<u32>(block, 0u, stream.x, stream.y);
    var k = $stream[0];
    for (var round = 0; round < 10; round++) {
        let even = product(0xd2511f53u, c.x);
        let odd = product(0xcd9e8d57u, c.z);
        c = vec4<u32>(odd.x ^ c.y ^ k.x, odd.y, even.x ^ c.w ^ k.y, even.y);
        k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}
