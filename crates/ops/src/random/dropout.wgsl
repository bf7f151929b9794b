fn each(i: u32) {
    let at = i / u32($each);
    let words = philox(at / 4u);
    let is_kept = words[at % 4u] < u32($threshold);
    $y[i] = select($floor, $x[i] * $scale + $shift, is_kept);
}
