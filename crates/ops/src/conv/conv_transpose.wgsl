// The window that covers a place with this part of the kernel along one axis; -1, if none does.
fn window_at(axis: i32, place: i32, part: i32) -> i32 {
    let shift = place + $numbers(12 + axis) - part * $numbers(15 + axis);
    let window = shift / $numbers(9 + axis);
    let is_there = shift >= 0 && shift % $numbers(9 + axis) == 0 && window < $numbers(6 + axis);
    return select(-1, window, is_there);
}
fn each(i: u32) {
    let plane = $numbers(0) * $numbers(1) * $numbers(2);
    let windows = $numbers(6) * $numbers(7) * $numbers(8);
    let kernel = $numbers(3) * $numbers(4) * $numbers(5);
    let at = i32(i);
    let place = at % plane;
    let channel = at / plane;
    let image = channel / $outs;
    let place_z = place / ($numbers(1) * $numbers(2));
    let place_y = place / $numbers(2) % $numbers(1);
    let place_x = place % $numbers(2);
    var sum = 0.0;
    for (var part = 0; part < kernel; part++) {
        let z = window_at(0, place_z, part / ($numbers(4) * $numbers(5)));
        let y = window_at(1, place_y, part / $numbers(5) % $numbers(4));
        let x = window_at(2, place_x, part % $numbers(5));
        if (z < 0 || y < 0 || x < 0) { continue; }
        let window = (z * $numbers(7) + y) * $numbers(8) + x;
        for (var c = 0; c < $ins; c++) {
            let weight_at = ((image % $groups * $ins + c) * $outs + channel % $outs) * kernel + part;
            sum = fma($x[(image * $ins + c) * windows + window], $weight[weight_at], sum);
        }
    }
    $y[i] = sum;
}
