fn each(i: u32) {
    let lr = $lr[0];
    let coupled = select($decay, 0.0, $decoupled != 0);
    let keep = select(1.0, 1.0 - lr * $decay, $decoupled != 0);
    let grad = $g[i] + $w[i] * coupled;
    let velocity = $v[i] * $momentum + grad * $part[0];
    $to_v[i] = velocity;
    $to_w[i] = $w[i] * keep - lr * select(velocity, grad + velocity * $momentum, $nesterov != 0);
}
