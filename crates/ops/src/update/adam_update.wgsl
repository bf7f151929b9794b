fn each(i: u32) {
    let lr = $lr[0];
    let coupled = select($decay, 0.0, $decoupled != 0);
    let keep = select(1.0, 1.0 - lr * $decay, $decoupled != 0);
    let grad = $g[i] + $w[i] * coupled;
    let news1 = (1.0 - $beta1) - $beta1_rest; let news2 = (1.0 - $beta2) - $beta2_rest;
    let mean = $m[i] * $beta1 + grad * news1;
    let square = $v[i] * $beta2 + grad * grad * news2;
    var divisor = square;
    if ($has_top) {
        divisor = fl_max($top[i], square);
        $to_top[i] = divisor;
    }
    $to_m[i] = mean;
    $to_v[i] = square;
    $to_w[i] = $w[i] * keep - lr / $c1[0] * (mean / (sqrt(divisor) / $c2[0] + $eps));
}
