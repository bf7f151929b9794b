fn each(i: u32) {
    let inner = $n(8); let middle = $n(7);
    let windows = $n(6) * middle * inner;
    let window = i32(i) % windows;
    let start = i32(i) / windows * $n(0) * $n(1) * $n(2);
    let first = vec3<i32>(window / (middle * inner) * $n(9) - $n(12), window / inner % middle * $n(10) - $n(13),
                          window % inner * $n(11) - $n(14));
    var best = -1;
    var most = $T(0);
    for (var a = 0; a < $n(3); a++) {
        let z = first.x + a * $n(15);
        for (var b = 0; b < $n(4); b++) {
            let y = first.y + b * $n(16);
            for (var c = 0; c < $n(5); c++) {
                let x = first.z + c * $n(17);
                if (z < 0 || z >= $n(0) || y < 0 || y >= $n(1) || x < 0 || x >= $n(2)) { continue; }
                let at = (z * $n(1) + y) * $n(2) + x;
                let element = $x[start + at];
                if (best < 0 || element > most || (is_nan(f32(element)) && !is_nan(f32(most)))) {
                    most = element;
                    best = at;
                }
            }
        }
    }
    $y[i] = most;
    $places[i] = pair(best);
}
