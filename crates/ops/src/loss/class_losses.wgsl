fn group(i: u32, lane: u32) {
    let row = i32(i) * $classes;
    let label = whole($labels[i]);
    let is_ignored = label == $ignored && fits($labels[i]);
    let is_class = label >= 0 && label < $classes && fits($labels[i]);
    if (!is_ignored && !is_class) { fail(); }
    var most = -infinity();
    for (var j = i32(lane); j < $classes; j += 64) { most = fl_max(most, $x[row + j]); }
    most = lanes_max(lane, most);
    var sum = 0.0;
    for (var j = i32(lane); j < $classes; j += 64) { sum += fl_exp($x[row + j] - most); }
    sum = lanes_sum(lane, sum);
    if ($has_slopes) {
        for (var j = i32(lane); j < $classes; j += 64) {
            let share = fl_exp($x[row + j] - most) / sum - select(0.0, 1.0, j == label);
            $slopes[row + j] = select(share, 0.0, is_ignored);
        }
    }
    if (lane == 0u) {
        let own = $x[row + clamp(label, 0, $classes - 1)] - most;
        $losses[i] = select(fl_log(sum) - own, 0.0, is_ignored);
    }
}
