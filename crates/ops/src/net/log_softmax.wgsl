fn group(i: u32, lane: u32) {
    let row = i32(i);
    let at = row / $inner * $size * $inner + row % $inner;
    var most = -infinity();
    for (var j = i32(lane); j < $size; j += 64) { most = fl_max(most, $x[at + j * $inner]); }
    most = lanes_max(lane, most);
    var sum = 0.0;
    for (var j = i32(lane); j < $size; j += 64) { sum += fl_exp($x[at + j * $inner] - most); }
    let level = fl_log(lanes_sum(lane, sum));
    for (var j = i32(lane); j < $size; j += 64) { $y[at + j * $inner] = $x[at + j * $inner] - most - level; }
}
