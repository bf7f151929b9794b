// By the method of Box and Muller.
fn each(i: u32) {
    let words = philox(i / 4u);
    let a = words[i % 4u / 2u * 2u]; let b = words[i % 4u / 2u * 2u + 1u];
    let radius = sqrt(-2.0 * fl_log((f32(a) + 0.5) / 4294967296.0));
    // The angle by eighths of a turn, since there sine and cosine keep their digits.
    let quarter = (b + 0x20000000u) >> 30u;
    let rest = f32(bitcast<i32>(b - (quarter << 30u))) * (6.2831853 / 4294967296.0);
    let s = rest * rest;
    let sine = rest * fma(s, fma(s, fma(s, fma(s, 2.7557319e-6, -1.9841270e-4), 8.3333333e-3), -0.16666667), 1.0);
    let cosine = fma(s, fma(s, fma(s, fma(s, 2.4801587e-5, -1.3888889e-3), 4.1666667e-2), -0.5), 1.0);
    let is_sine = (i % 2u == 1u) != (quarter % 2u == 1u);
    var value = select(cosine, sine, is_sine);
    let turned = select(quarter == 1u || quarter == 2u, quarter >= 2u, i % 2u == 1u);
    $y[i] = fma($std, radius * select(value, -value, turned), $mean);
}
