// The first groups other threads have a row each, the others a weight and a bias.
fn centred(row: i32, j: i32) -> f32 {
    var mean = 0.0;
    if ($has_means) { mean = $means[row]; }
    return ($x[row * $size + j] - mean) * $scales[row];
}
fn weighted(row: i32, j: i32) -> f32 {
    var w = 1.0;
    if ($has_weight) { w = $weight[(row % $groups * $size + j) / $each]; }
    return $dy[row * $size + j] * w;
}
fn group(i: u32, lane: u32) {
    let row = i32(i);
    var sum = 0.0; var along = 0.0;
    if (row < $rows) {
        for (var j = i32(lane); j < $size; j += 64) {
            let slope = weighted(row, j);
            sum += slope;
            along = fma(slope, centred(row, j), along);
        }
    } else {
        // Elements of this weight in all rows that have it.
        let begin = (row - $rows) * $each;
        let n_rows = $rows / $groups;
        for (var s = i32(lane); s < n_rows * $each; s += 64) {
            let place = begin + s % $each;
            let other = s / $each * $groups + place / $size;
            let j = place % $size;
            sum += $dy[other * $size + j];
            along = fma($dy[other * $size + j], centred(other, j), along);
        }
    }
    sum = lanes_sum(lane, sum);
    along = lanes_sum(lane, along);
    if (row < $rows) {
        let mean = select(0.0, sum / f32($size), $centre != 0);
        let share = along / f32($size);
        for (var j = i32(lane); j < $size; j += 64) {
            $dx[row * $size + j] = (weighted(row, j) - mean - centred(row, j) * share) * $scales[row];
        }
    } else if (lane == 0u) {
        if ($has_dweight) { $dweight[row - $rows] = along; }
        if ($has_dbias) { $dbias[row - $rows] = sum; }
    }
}
