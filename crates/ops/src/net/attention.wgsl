// A group of threads has one query: keys are taken 64 at a time, and the sum is scaled anew whenever a greater score comes.
var<workgroup> weights: array<f32, 64>;
fn head(number: i32, what: i32) -> i32 {
    var rest = number;
    var at = 0;
    for (var axis = $rank - 1; axis >= 0; axis--) {
        let here = rest % $sizes(axis);
        rest = rest / $sizes(axis);
        let own = select(here, here / $shared, axis == $rank - 1);
        if (what == 0) { at += here * $steps_q(axis); }
        if (what == 1) { at += own * $steps_k(axis); }
        if (what == 2) { at += own * $steps_v(axis); }
        if (what == 3) { at += here * $steps_mask(axis); }
    }
    return at;
}
fn score(at_q: i32, at_k: i32, at_mask: i32, query: i32, key: i32) -> f32 {
    var sum = 0.0;
    for (var d = 0; d < $width; d++) {
        sum = fma($q[at_q + query * $width + d], $k[at_k + key * $width + d], sum);
    }
    sum = sum * $scale;
    let place = at_mask + query * $steps_mask($rank) + key * $steps_mask($rank + 1);
    if ($has_holds) { if ($holds[place] == 0) { sum = -infinity(); } }
    if ($has_mask) { sum += $mask[place]; }
    return select(sum, -infinity(), $causal != 0 && key > query);
}
fn group(i: u32, lane: u32) {
    let number = i32(i) / $queries; let query = i32(i) % $queries;
    let at_q = head(number, 0); let at_k = head(number, 1); let at_v = head(number, 2);
    var at_mask = 0;
    if ($has_mask || $has_holds) { at_mask = head(number, 3); }
    var most = -infinity(); var total = 0.0;
    var sums: array<f32, 4>;
    for (var start = 0; start < $keys; start += 64) {
        let key = start + i32(lane);
        var own = -infinity();
        if (key < $keys) { own = score(at_q, at_k, at_mask, query, key); }
        let now = fl_max(most, lanes_max(lane, own));
        let level = select(now, 0.0, now == -infinity());
        let weight = fl_exp(own - level);
        let shrink = fl_exp(most - level);
        total = total * shrink + lanes_sum(lane, weight);
        weights[lane] = weight;
        workgroupBarrier();
        for (var part = 0; part < 4; part++) {
            let d = part * 64 + i32(lane);
            if (d < $depth) {
                var sum = sums[part] * shrink;
                for (var j = 0; j < min(64, $keys - start); j++) {
                    sum = fma(weights[j], $v[at_v + (start + j) * $depth + d], sum);
                }
                sums[part] = sum;
            }
        }
        workgroupBarrier();
        most = now;
    }
    let level = select(most, 0.0, most == -infinity());
    let factor = select(1.0 / total, 0.0, total == 0.0);
    for (var part = 0; part < 4; part++) {
        let d = part * 64 + i32(lane);
        if (d < $depth) { $y[i32(i) * $depth + d] = sums[part] * factor; }
    }
    if (lane == 0u && $has_logs) { $logs[i] = level + fl_log(total); }
}
