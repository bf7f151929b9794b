fn each(i: u32) {
    let at = i32(i);
    let row = at / $inner % $size; let outer = at / ($inner * $size);
    var sum = $T(0);
    for (var j = 0; j < $count; j++) {
        let index = whole($index[j]);
        if (!fits($index[j]) || index < -$size || index >= $size) { fail(); return; }
        if (index == row || index + $size == row) { sum += $updates[(outer * $count + j) * $inner + at % $inner]; }
    }
    $y[at] = sum;
}
