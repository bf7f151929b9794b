fn each(i: u32) {
    let at = i32(i);
    let pair_at = at / $inner % $count;
    let index = whole($index[pair_at]);
    if (!fits($index[pair_at]) || index < -$size || index >= $size) { fail(); return; }
    let row = select(index, index + $size, index < 0);
    $y[at] = $x[(at / ($inner * $count) * $size + row) * $inner + at % $inner];
}
