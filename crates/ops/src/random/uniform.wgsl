fn each(i: u32) {
    let words = philox(i / 4u);
    let unit = f32(words[i % 4u] >> 8u) / 16777216.0;
    let value = fma(unit, $high - $low, $low);
    $y[i] = select($low, value, value < $high);
}
