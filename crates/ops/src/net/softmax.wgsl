fn group(i: u32, lane: u32) {
    let row = i32(i);
    let at = row / $inner * $size * $inner + row % $inner;
    var most = -infinity();
    for (var j = i32(lane); j < $size; j += 64) { most = fl_max(most, $x[at + j * $inner]); }
    most = lanes_max(lane, most);
    var sum = 0.0;
    for (var j = i32(lane); j < $size; j += 64) {
        let power = fl_exp($x[at + j * $inner] - most);
        $y[at + j * $inner] = power;
        sum += power;
    }
    sum = lanes_sum(lane, sum);
    for (var j = i32(lane); j < $size; j += 64) { $y[at + j * $inner] = $y[at + j * $inner] / sum; }
}
