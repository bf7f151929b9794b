fn group(i: u32, lane: u32) {
    let start = i32(i) * $size;
    var sum = 0.0;
    if ($centre != 0) {
        for (var j = i32(lane); j < $size; j += 64) { sum += $x[start + j]; }
    }
    let mean = lanes_sum(lane, sum) / f32($size);
    var squares = 0.0;
    for (var j = i32(lane); j < $size; j += 64) {
        let apart = $x[start + j] - mean;
        squares = fma(apart, apart, squares);
    }
    let scale = 1.0 / sqrt(lanes_sum(lane, squares) / f32($size) + $eps);
    if (lane == 0u) {
        if ($has_means) { $means[i] = mean; }
        if ($has_scales) { $scales[i] = scale; }
    }
    for (var j = i32(lane); j < $size; j += 64) {
        let param = (i32(i) % $groups * $size + j) / $each;
        var w = 1.0; var b = 0.0;
        if ($has_weight) { w = $weight[param]; }
        if ($has_bias) { b = $bias[param]; }
        $y[start + j] = ($x[start + j] - mean) * scale * w + b;
    }
}
