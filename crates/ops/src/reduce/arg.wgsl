fn each(i: u32) {
    let start = i32(i) / $inner * $size * $inner + i32(i) % $inner;
    var best = 0;
    for (var j = 1; j < $size; j++) {
        let a = $x[start + best * $inner]; let b = $x[start + j * $inner];
        let is_more = select((b < a), (b > a), $greatest != 0);
        if (!is_nan(f32(a)) && (is_nan(f32(b)) || is_more)) { best = j; }
    }
    $y[i] = pair(best);
}
