fn group(i: u32, lane: u32) {
    let plane = $numbers(0) * $numbers(1) * $numbers(2);
    let windows = $numbers(6) * $numbers(7) * $numbers(8);
    let kernel = $numbers(3) * $numbers(4) * $numbers(5);
    let part = i32(i) % kernel;
    let channel_in = i32(i) / kernel % $ins;
    let channel = i32(i) / (kernel * $ins);
    let a = part / ($numbers(4) * $numbers(5)); let b = part / $numbers(5) % $numbers(4); let d = part % $numbers(5);
    var sum = 0.0;
    for (var j = i32(lane); j < $batch * windows; j += 64) {
        let window = j % windows;
        let image = j / windows * $groups + channel / $outs;
        let z = window / ($numbers(7) * $numbers(8)) * $numbers(9) + a * $numbers(15) - $numbers(12);
        let y = window / $numbers(8) % $numbers(7) * $numbers(10) + b * $numbers(16) - $numbers(13);
        let x = window % $numbers(8) * $numbers(11) + d * $numbers(17) - $numbers(14);
        if (z >= 0 && z < $numbers(0) && y >= 0 && y < $numbers(1) && x >= 0 && x < $numbers(2)) {
            let start = (image * $ins + channel_in) * plane + (z * $numbers(1) + y) * $numbers(2) + x;
            sum = fma($x[start], $dy[(image * $outs + channel % $outs) * windows + window], sum);
        }
    }
    sum = lanes_sum(lane, sum);
    if (lane == 0u) { $dweight[i] = sum; }
}
