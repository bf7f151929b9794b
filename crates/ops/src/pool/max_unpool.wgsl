fn each(i: u32) {
    let place = i32(i) % $size;
    let start = i32(i) / $size * $count;
    var sum = $T(0);
    for (var j = start; j < start + $count; j++) {
        let at = whole($places[j]);
        if (!fits($places[j]) || at < -1 || at >= $size) { fail(); return; }
        if (at == place) { sum += $x[j]; }
    }
    $y[i] = sum;
}
