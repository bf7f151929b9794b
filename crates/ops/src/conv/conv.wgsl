fn each(i: u32) {
    let inner = $numbers(8); let middle = $numbers(7);
    let windows = $numbers(6) * middle * inner;
    let at = i32(i);
    let window = at % windows;
    let channel = at / windows;
    let image = channel / $outs;
    let plane = $numbers(0) * $numbers(1) * $numbers(2);
    var place = (image % $groups * $outs + channel % $outs) * $ins * $numbers(3) * $numbers(4) * $numbers(5);
    let first = vec3<i32>(window / (middle * inner) * $numbers(9) - $numbers(12),
                          window / inner % middle * $numbers(10) - $numbers(13),
                          window % inner * $numbers(11) - $numbers(14));
    var sum = 0.0;
    for (var channel_in = 0; channel_in < $ins; channel_in++) {
        let start = (image * $ins + channel_in) * plane;
        for (var a = 0; a < $numbers(3); a++) {
            let z = first.x + a * $numbers(15);
            for (var b = 0; b < $numbers(4); b++) {
                let y = first.y + b * $numbers(16);
                for (var d = 0; d < $numbers(5); d++) {
                    let x = first.z + d * $numbers(17);
                    if (z >= 0 && z < $numbers(0) && y >= 0 && y < $numbers(1) && x >= 0 && x < $numbers(2)) {
                        sum = fma($x[start + (z * $numbers(1) + y) * $numbers(2) + x], $weight[place], sum);
                    }
                    place++;
                }
            }
        }
    }
    $y[i] = sum;
}
