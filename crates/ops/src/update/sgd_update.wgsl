fn each(i: u32) {
    let lr = $lr[0];
    let coupled = select($decay, 0.0, $decoupled != 0);
    let keep = select(1.0, 1.0 - lr * $decay, $decoupled != 0);
    $to[i] = $w[i] * keep - lr * ($g[i] + $w[i] * coupled);
}
