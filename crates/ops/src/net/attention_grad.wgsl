// A group of threads has one row of a cotangent, 64 places at a time: first those of queries, then of keys, then of values. A row
// may belong to several heads.
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
// The weight of a key for a query, and the cotangent of their score.
fn slopes(number: i32, query: i32, key: i32) -> vec2<f32> {
    let at_q = head(number, 0); let at_k = head(number, 1); let at_v = head(number, 2);
    var sum = 0.0;
    for (var d = 0; d < $width; d++) {
        sum = fma($q[at_q + query * $width + d], $k[at_k + key * $width + d], sum);
    }
    sum = sum * $scale;
    if ($has_mask || $has_holds) {
        let place = head(number, 3) + query * $steps_mask($rank) + key * $steps_mask($rank + 1);
        if ($has_holds) { if ($holds[place] == 0) { sum = -infinity(); } }
        if ($has_mask) { sum += $mask[place]; }
    }
    if ($causal != 0 && key > query) { sum = -infinity(); }
    let log = $logs[number * $queries + query];
    let weight = fl_exp(sum - select(log, 0.0, log == -infinity()));
    let row = (number * $queries + query) * $depth;
    var slope = 0.0;
    for (var d = 0; d < $depth; d++) {
        slope = fma($dy[row + d], $v[at_v + key * $depth + d] - $y[row + d], slope);
    }
    return vec2<f32>(weight, weight * slope * $scale);
}
fn group(i: u32, lane: u32) {
    let rows_q = $all_q / $width; let rows_k = $all_k / $width;
    var what = 0; var row = i32(i);
    if (row >= rows_q) { what = 1; row -= rows_q; }
    if (what == 1 && row >= rows_k) { what = 2; row -= rows_k; }
    let across = select($width, $depth, what == 2);
    let own = select($keys, $queries, what == 0);
    let others = select($queries, $keys, what == 0);
    var count = 1;
    for (var axis = 0; axis < $rank; axis++) { count = count * $sizes(axis); }
    var sums: array<f32, 4>;
    for (var number = 0; number < count; number++) {
        let begin = head(number, what) / across;
        let place = row - begin;
        if (place < 0 || place >= own) { continue; }
        for (var start = 0; start < others; start += 64) {
            let other = start + i32(lane);
            var weight = 0.0;
            if (other < others) {
                let both = slopes(number, select(other, place, what == 0), select(place, other, what == 0));
                weight = select(both.y, both.x, what == 2);
            }
            weights[lane] = weight;
            workgroupBarrier();
            for (var part = 0; part < 4; part++) {
                let d = part * 64 + i32(lane);
                if (d < across) {
                    var sum = sums[part];
                    for (var j = 0; j < min(64, others - start); j++) {
                        var x = 0.0;
                        if (what == 0) { x = $k[head(number, 1) + (start + j) * $width + d]; }
                        if (what == 1) { x = $q[head(number, 0) + (start + j) * $width + d]; }
                        if (what == 2) { x = $dy[(number * $queries + start + j) * $depth + d]; }
                        sum = fma(weights[j], x, sum);
                    }
                    sums[part] = sum;
                }
            }
            workgroupBarrier();
        }
    }
    for (var part = 0; part < 4; part++) {
        let d = part * 64 + i32(lane);
        if (d >= across) { continue; }
        if (what == 0) { $dq[row * $width + d] = sums[part]; }
        if (what == 1) { $dk[row * $width + d] = sums[part]; }
        if (what == 2) { $dv[row * $depth + d] = sums[part]; }
    }
}
