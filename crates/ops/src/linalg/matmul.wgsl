// Tiles of 32 by 32 elements, of which each of 64 lanes has 4 by 4.
var<workgroup> left: array<f32, 512>;
var<workgroup> right: array<f32, 512>;
fn group(i: u32, lane: u32) {
    let m = $m; let n = $n; let k = $k;
    let across = (n + 31) / 32;
    let tiles = across * ((m + 31) / 32);
    let tile = i32(i) % tiles;
    var number = i32(i) / tiles;
    let to = number * m * n;
    var from_a = 0; var from_b = 0;
    for (var axis = $rank - 1; axis >= 0; axis--) {
        let here = number % $sizes(axis);
        number = number / $sizes(axis);
        from_a += here * $steps_a(axis);
        from_b += here * $steps_b(axis);
    }
    let down_a = select(k, 1, $ta != 0); let across_a = select(1, m, $ta != 0);
    let down_b = select(n, 1, $tb != 0); let across_b = select(1, k, $tb != 0);
    let row = tile / across * 32; let column = tile % across * 32;
    let own_row = i32(lane) / 8 * 4; let own_column = i32(lane) % 8 * 4;
    var sum: array<f32, 16>;
    for (var p = 0; p < k; p += 16) {
        for (var s = i32(lane); s < 512; s += 64) {
            let q = p + s / 32;
            let r = row + s % 32; let c = column + s % 32;
            var x = 0.0; var y = 0.0;
            if (q < k && r < m) { x = $a[from_a + r * down_a + q * across_a]; }
            if (q < k && c < n) { y = $b[from_b + q * down_b + c * across_b]; }
            left[s] = x;
            right[s] = y;
        }
        workgroupBarrier();
        for (var q = 0; q < 16; q++) {
            let y = vec4<f32>(right[q * 32 + own_column], right[q * 32 + own_column + 1], right[q * 32 + own_column + 2],
                              right[q * 32 + own_column + 3]);
            for (var r = 0; r < 4; r++) {
                let x = left[q * 32 + own_row + r];
                sum[r * 4] = fma(x, y.x, sum[r * 4]);
                sum[r * 4 + 1] = fma(x, y.y, sum[r * 4 + 1]);
                sum[r * 4 + 2] = fma(x, y.z, sum[r * 4 + 2]);
                sum[r * 4 + 3] = fma(x, y.w, sum[r * 4 + 3]);
            }
        }
        workgroupBarrier();
    }
    for (var s = 0; s < 16; s++) {
        let r = row + own_row + s / 4; let c = column + own_column + s % 4;
        if (r < m && c < n) { $c[to + r * n + c] = sum[s]; }
    }
}
