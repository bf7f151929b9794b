use fluvial_tensor::{DType, Tensor};

use super::*;
use crate::simd::{self, Level};
use crate::testing::Rng;

/// The sum over all windows, by definition: calls `f` with the places in input, weight and output.
fn each_term(
    x: &[usize],
    weight: &[usize],
    windows: &Windows<'_>,
    groups: usize,
    mut f: impl FnMut(usize, usize, usize),
) {
    let counts = windows.count(&x[2..]).unwrap();
    let n: usize = counts.iter().product();
    let k: usize = windows.kernel.iter().product();
    let split = |mut flat: usize, sizes: &[usize]| -> Vec<usize> {
        let mut places = vec![0; sizes.len()];
        for axis in (0..sizes.len()).rev() {
            places[axis] = flat % sizes[axis];
            flat /= sizes[axis];
        }
        places
    };
    let pixels: usize = x[2..].iter().product();
    for term in 0..x[0] * weight[0] * n * weight[1] * k {
        let (element, rest) = (term % k, term / k);
        let (channel, rest) = (rest % weight[1], rest / weight[1]);
        let (window, rest) = (rest % n, rest / n);
        let (out, image) = (rest % weight[0], rest / weight[0]);
        let (at, element_at) = (split(window, &counts), split(element, windows.kernel));
        let mut pixel = Some(0);
        for axis in 0..counts.len() {
            let place = at[axis] * windows.stride[axis] + element_at[axis] * windows.dilation[axis];
            let place = place.checked_sub(windows.before[axis]).filter(|&p| p < x[2 + axis]);
            pixel = pixel.zip(place).map(|(pixel, place)| pixel * x[2 + axis] + place);
        }
        let Some(pixel) = pixel else { continue };
        let group = out / (weight[0] / groups);
        let source = (image * x[1] + group * weight[1] + channel) * pixels + pixel;
        f(
            source,
            (out * weight[1] + channel) * k + element,
            (image * weight[0] + out) * n + window,
        );
    }
}

#[test]
fn every_convolution_is_its_definition() {
    let _level = simd::force(Level::Avx512);
    let mut rng = Rng::new(31);
    for _ in 0..120 {
        let axes = 1 + rng.below(3);
        let mut several = |low: usize, n: usize| -> Vec<usize> {
            (0..axes).map(|_| low + rng.below(n)).collect()
        };
        let (kernel, stride, dilation) = (several(1, 3), several(1, 3), several(1, 2));
        let (before, after, sizes) = (several(0, 3), several(0, 3), several(3, 4));
        let windows = Windows {
            kernel: &kernel,
            stride: &stride,
            before: &before,
            after: &after,
            dilation: &dilation,
        };
        let Ok(counts) = windows.count(&sizes) else { continue };
        let groups = 1 + rng.below(2);
        let (batch, into, out) = (1 + rng.below(2), 1 + rng.below(2), groups * (1 + rng.below(2)));
        let x_dims = [&[batch, into * groups][..], &sizes].concat();
        let w_dims = [&[out, into][..], &kernel].concat();
        let y_dims = [&[batch, out][..], &counts].concat();
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let x = rng.tensor(dtype, &x_dims);
            let w = rng.tensor(dtype, &w_dims);
            let y = rng.tensor(dtype, &y_dims);
            let (xs, ws, ys) = (x.to_f64s(), w.to_f64s(), y.to_f64s());
            let mut of_x = vec![0.0; xs.len()];
            let mut of_w = vec![0.0; ws.len()];
            let mut of_y = vec![0.0; ys.len()];
            each_term(&x_dims, &w_dims, &windows, groups, |i, j, k| {
                of_y[k] += xs[i] * ws[j];
                of_x[i] += ys[k] * ws[j];
                of_w[j] += xs[i] * ys[k];
            });
            let check = |found: Result<Tensor>, dims: &[usize], expected: &[f64]| {
                let found = found.unwrap();
                assert_eq!(found.dims(), dims);
                let expected = Tensor::from_f64s(dtype, expected, dims).unwrap();
                assert_eq!(found.to_f64s(), expected.to_f64s(), "{windows:?} {dtype}");
            };
            let (x, w, y) = (rng.scramble(&x), rng.scramble(&w), rng.scramble(&y));
            check(conv(&x, &w, &windows, groups, dtype), &y_dims, &of_y);
            check(conv_transpose(&y, &w, &windows, groups, &sizes, dtype), &x_dims, &of_x);
            check(conv_weight_grad(&x, &y, &windows, groups, dtype), &w_dims, &of_w);
        }
    }
}

#[test]
fn unfolding_and_folding_are_adjoint() {
    let mut rng = Rng::new(32);
    let windows = Windows {
        kernel: &[2, 3],
        stride: &[2, 1],
        before: &[1, 0],
        after: &[1, 2],
        dilation: &[1, 2],
    };
    let x = rng.tensor(DType::F64, &[2, 3, 4, 5]);
    let columns = unfold(&x, &windows).unwrap();
    assert_eq!(columns.dims(), [2, 18, 9]);
    let other = rng.tensor(DType::F64, &[2, 18, 9]);
    let back = fold(&other, &windows, &[4, 5]).unwrap();
    let dot = |a: &Tensor, b: &Tensor| -> f64 {
        a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
    };
    assert_eq!(dot(&columns, &other), dot(&x, &back));
}

#[test]
fn faults() {
    let windows = Windows { kernel: &[3], stride: &[1], before: &[0], after: &[0], dilation: &[2] };
    let error = windows.count(&[4]).unwrap_err();
    assert_eq!(
        error.message(),
        "a kernel of 3 with dilation 2 reaches over 5 elements, but spatial axis 0 has 4, with \
         padding 4"
    );
    assert!(windows.count(&[5]).is_ok());
    let zeros = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
    assert!(conv(&zeros(&[1, 3, 8]), &zeros(&[2, 2, 3]), &windows, 1, DType::F32).is_err());
    let y = zeros(&[1, 2, 9]);
    assert!(conv_transpose(&y, &zeros(&[2, 2, 3]), &windows, 1, &[8], DType::F32).is_err());
}

/// A convolution over planes with its results by [`Plan`] in `f64`.
struct Case {
    planes: Planes,
    plan: Plan,
    x: Tensor,
    weight: Tensor,
    y: Tensor,
}

/// `batch, groups, into, out, height, width, kernel, stride, before, after, dilation`.
type Sizes = [usize; 11];

impl Case {
    fn new(rng: &mut Rng, sizes: &Sizes) -> Case {
        let &[batch, groups, into, out, height, width, kernel, stride, before, after, dilation] =
            sizes;
        let windows = Windows {
            kernel: &[kernel; 2],
            stride: &[stride; 2],
            before: &[before; 2],
            after: &[after; 2],
            dilation: &[dilation; 2],
        };
        let x_dims = [batch, groups * into, height, width];
        Case::of(rng, &x_dims, &[groups * out, into, kernel, kernel], &windows, groups)
    }

    fn of(
        rng: &mut Rng,
        x_dims: &[usize],
        weight_dims: &[usize],
        windows: &Windows<'_>,
        groups: usize,
    ) -> Case {
        let (plan, counts) = Plan::new(x_dims, weight_dims, windows, groups).unwrap();
        let planes = Planes::new(x_dims, weight_dims, &counts, windows, groups).unwrap();
        let mut numbers = |dims: &[usize]| {
            let values: Vec<f32> =
                (0..dims.iter().product()).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
            Tensor::from_slice(&values, dims).unwrap()
        };
        let x = numbers(x_dims);
        let weight = numbers(weight_dims);
        let y = numbers(&with_spatial(x_dims[0], weight_dims[0], &counts));
        Case { planes, plan, x, weight, y }
    }

    /// Forward, back to the input, back to the weights: each in this way, and exactly.
    fn results(&self, pass: usize, way: Way) -> (Tensor, Tensor) {
        let wide = |x: &Tensor| x.cast(DType::F64).unwrap();
        let like = |x: &Tensor, dtype: DType| Tensor::full_nan(x, dtype);
        let Case { planes, plan, x, weight, y } = self;
        let of = [y, x, weight][pass];
        let (mut found, mut exact) = (like(of, DType::F32), like(of, DType::F64));
        match pass {
            0 => {
                forward(way, planes, plan, x, weight, &mut found).unwrap();
                plan.forward::<f64>(&wide(x), &wide(weight), &mut exact).unwrap();
            }
            1 => {
                transposed(way, planes, plan, y, weight, &mut found).unwrap();
                plan.transposed::<f64>(&wide(y), &wide(weight), &mut exact).unwrap();
            }
            _ => {
                weight_grad(way, planes, plan, x, y, &mut found).unwrap();
                plan.weight_grad::<f64>(&wide(x), &wide(y), &mut exact).unwrap();
            }
        }
        (found, exact)
    }

    fn check(&self, pass: usize, way: Way) {
        let (found, exact) = self.results(pass, way);
        let exact = exact.to_f64s();
        let scale = (exact.iter().map(|x| x * x).sum::<f64>() / exact.len() as f64).sqrt();
        for (i, (found, exact)) in found.to_f64s().iter().zip(&exact).enumerate() {
            let error = (found - exact).abs();
            assert!(
                error <= 2e-5 * (scale + 0.1),
                "{way:?}, pass {pass}, element {i}: {found} not {exact}, {:?}",
                self.planes
            );
        }
        for threads in [1, 2, 3, 8] {
            crate::threads::set_count(threads);
            let (again, _) = self.results(pass, way);
            assert_eq!(again.to_f64s(), found.to_f64s(), "{way:?} on {threads} threads");
        }
    }
}

trait FullNan {
    fn full_nan(like: &Tensor, dtype: DType) -> Tensor;
}

impl FullNan for Tensor {
    /// So that an element that is not written is found.
    fn full_nan(like: &Tensor, dtype: DType) -> Tensor {
        Tensor::from_f64s(dtype, &vec![f64::NAN; like.numel()], like.dims()).unwrap()
    }
}

#[test]
fn the_general_way_is_exact_on_any_number_of_threads() {
    // The level and the number of threads are one for the process.
    let _level = simd::force(Level::Avx512);
    let mut rng = Rng::new(33);
    for sizes in [
        [9, 1, 3, 5, 9, 8, 3, 1, 1, 1, 1],
        [3, 4, 2, 3, 9, 8, 3, 2, 1, 0, 2],
        [11, 1, 20, 24, 12, 12, 5, 1, 0, 0, 1],
    ] {
        let case = Case::new(&mut rng, &sizes);
        (0..3).for_each(|pass| case.check(pass, Way::General));
    }
}

#[test]
fn small_images_share_products() {
    let _level = simd::force(Level::Avx512);
    let mut rng = Rng::new(37);
    // Batch, groups, into, out, height, width, kernel, stride, before, after, dilation.
    for sizes in [
        [16, 1, 12, 20, 2, 2, 3, 1, 1, 1, 1],
        [5, 1, 9, 6, 7, 7, 7, 1, 0, 0, 1],
        [4, 2, 3, 6, 5, 5, 5, 1, 0, 0, 1],
        [6, 3, 4, 5, 8, 8, 3, 2, 1, 1, 1],
        [40, 1, 300, 7, 9, 9, 4, 2, 1, 1, 1],
        [4, 1, 16, 24, 16, 16, 1, 1, 0, 0, 1],
        [7, 2, 3, 4, 4, 4, 1, 2, 0, 0, 1],
    ] {
        let case = Case::new(&mut rng, &sizes);
        assert!(case.plan.is_batched_for_weights());
        (0..3).for_each(|pass| case.check(pass, Way::General));
    }
}

#[test]
fn narrow_groups_are_merged() {
    let _level = simd::force(Level::Avx512);
    let mut rng = Rng::new(38);
    for (groups, into, out, stride) in [(32, 4, 4, 1), (8, 8, 8, 2), (6, 3, 5, 1), (10, 16, 2, 2)] {
        let windows = Windows {
            kernel: &[3, 3],
            stride: &[stride, stride],
            before: &[1, 1],
            after: &[1, 1],
            dilation: &[1, 1],
        };
        let counts = windows.count(&[8, 9]).unwrap();
        let x = rng.tensor(DType::F32, &[2, groups * into, 8, 9]);
        let w = rng.tensor(DType::F32, &[groups * out, into, 3, 3]);
        let y = rng.tensor(DType::F32, &with_spatial(2, groups * out, &counts));
        let wide = |x: &Tensor| x.cast(DType::F64).unwrap();
        let close = |found: &Tensor, exact: &Tensor| {
            assert_eq!(found.dims(), exact.dims());
            for (found, exact) in found.to_f64s().iter().zip(exact.to_f64s()) {
                assert!((found - exact).abs() <= 1e-4 * (1.0 + exact.abs()), "{found} not {exact}");
            }
        };
        let run = |x: &Tensor, w: &Tensor, y: &Tensor, dtype: DType| {
            [
                conv(x, w, &windows, groups, dtype).unwrap(),
                conv_transpose(y, w, &windows, groups, &[8, 9], dtype).unwrap(),
                conv_weight_grad(x, y, &windows, groups, dtype).unwrap(),
            ]
        };
        let found = run(&x, &w, &y, DType::F32);
        let exact = run(&wide(&x), &wide(&w), &wide(&y), DType::F64);
        found.iter().zip(&exact).for_each(|(found, exact)| close(found, exact));
    }
}

/// Keeps the widest instructions in use during a test; nothing where the machine has others.
#[cfg(target_arch = "x86_64")]
fn widest() -> Option<simd::Forced> {
    let forced = simd::force(Level::Avx512);
    wide::is_available().then_some(forced)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn direct_sums_are_right() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(34);
    for sizes in [
        [2, 1, 3, 40, 30, 31, 7, 2, 3, 3, 1],
        [1, 1, 64, 32, 14, 14, 3, 1, 1, 1, 1],
        [2, 2, 5, 7, 9, 24, 3, 1, 1, 1, 1],
        [3, 1, 40, 65, 7, 7, 3, 1, 1, 1, 1],
        [1, 1, 9, 16, 5, 3, 3, 1, 1, 1, 1],
        [1, 1, 2, 3, 1, 1, 1, 1, 0, 0, 1],
        [2, 1, 17, 33, 13, 45, 5, 1, 2, 2, 1],
        [1, 3, 4, 20, 12, 17, 3, 1, 2, 2, 2],
        [2, 1, 33, 48, 11, 13, 3, 2, 1, 1, 1],
        [1, 1, 8, 12, 64, 9, 2, 2, 0, 1, 1],
        [1, 1, 4, 4, 6, 70, 3, 1, 0, 3, 3],
        [1, 1, 100, 8, 10, 10, 3, 1, 4, 4, 1],
    ] {
        let case = Case::new(&mut rng, &sizes);
        case.check(0, Way::Direct);
        if sizes[7] == 1 {
            case.check(1, Way::Direct);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn winograd_is_right() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(35);
    for [batch, groups, into, out, height, width, before, after] in [
        [1, 1, 32, 32, 8, 8, 1, 1],
        [2, 1, 64, 64, 28, 28, 1, 1],
        [3, 1, 33, 47, 7, 7, 1, 1],
        [2, 2, 16, 24, 13, 9, 1, 1],
        [1, 1, 1, 1, 3, 3, 0, 0],
        [2, 1, 3, 5, 4, 37, 0, 2],
        [1, 1, 150, 290, 5, 6, 2, 0],
        [5, 1, 20, 20, 1, 1, 1, 1],
        [1, 1, 7, 9, 3, 130, 2, 2],
        [4, 1, 140, 20, 14, 14, 1, 1],
    ] {
        let sizes = [batch, groups, into, out, height, width, 3, 1, before, after, 1];
        let case = Case::new(&mut rng, &sizes);
        (0..3).for_each(|pass| case.check(pass, Way::Winograd));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn direct_sums_of_weights_are_right() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(36);
    for sizes in [
        [3, 1, 5, 40, 14, 15, 4, 2, 1, 1, 1],
        [2, 1, 3, 20, 9, 9, 4, 1, 0, 1, 1],
        [2, 1, 3, 40, 30, 31, 7, 2, 3, 3, 1],
        [9, 1, 6, 32, 14, 14, 3, 1, 1, 1, 1],
        [2, 2, 5, 7, 9, 24, 3, 1, 1, 1, 1],
        [3, 1, 4, 65, 7, 7, 3, 3, 1, 1, 1],
        [11, 1, 1, 20, 28, 28, 5, 1, 0, 0, 1],
        [1, 3, 4, 20, 12, 217, 3, 1, 2, 2, 1],
        [2, 1, 3, 48, 11, 13, 5, 2, 4, 4, 1],
    ] {
        Case::new(&mut rng, &sizes).check(2, Way::Direct);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn strips_are_right() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(37);
    for sizes in [
        [2, 1, 70, 40, 9, 11, 1, 1, 0, 0, 1],
        [1, 2, 300, 17, 7, 7, 1, 1, 0, 0, 1],
        [3, 1, 16, 300, 12, 12, 1, 1, 0, 0, 1],
        [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1],
        [9, 1, 1, 20, 28, 28, 5, 1, 0, 0, 1],
        [2, 1, 3, 9, 10, 9, 3, 1, 1, 1, 1],
        [1, 2, 2, 8, 13, 6, 3, 1, 2, 2, 2],
        [1, 1, 2, 8, 3, 3, 4, 1, 3, 2, 1],
        [1, 1, 2, 8, 9, 1, 3, 1, 0, 5, 1],
        [1, 1, 2, 8, 9, 1, 3, 1, 2, 0, 1],
    ] {
        let case = Case::new(&mut rng, &sizes);
        case.check(0, Way::Strips);
        case.check(1, Way::Strips);
        if sizes[6] == 1 {
            case.check(2, Way::Strips);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn depthwise_is_right() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(38);
    for [batch, groups, height, width, kernel, stride, before, after, dilation] in [
        [2, 40, 28, 28, 3, 1, 1, 1, 1],
        [3, 5, 7, 7, 5, 1, 2, 2, 1],
        [1, 3, 9, 45, 7, 1, 3, 3, 1],
        [2, 4, 13, 19, 3, 2, 1, 1, 1],
        [2, 4, 13, 18, 5, 2, 2, 1, 2],
        [1, 2, 20, 33, 3, 3, 2, 0, 1],
        [1, 2, 8, 8, 2, 1, 0, 1, 3],
        [1, 2, 1, 1, 1, 1, 0, 0, 1],
        [1, 2, 5, 70, 4, 2, 3, 5, 1],
        [8, 64, 56, 57, 3, 1, 1, 1, 1],
    ] {
        let sizes = [batch, groups, 1, 1, height, width, kernel, stride, before, after, dilation];
        let case = Case::new(&mut rng, &sizes);
        case.check(0, Way::Depthwise);
        case.check(2, Way::Depthwise);
        if stride == 1 {
            case.check(1, Way::Depthwise);
        }
    }
}

#[test]
fn every_choice_is_right() {
    let _level = simd::force(Level::Avx512);
    let mut rng = Rng::new(39);
    let mut done = 0;
    while done < 150 {
        let axes = 1 + rng.below(2);
        let mut several = |from: &[usize]| -> Vec<usize> {
            (0..axes).map(|_| from[rng.below(from.len())]).collect()
        };
        let equal = |values: Vec<usize>| vec![values[0]; axes];
        let (kernel, stride) = (several(&[1, 2, 3, 3, 5, 7]), several(&[1, 1, 2, 3]));
        let (kernel, stride) = match done % 3 {
            0 => (kernel, stride),
            _ => (equal(kernel), equal(stride)),
        };
        let (dilation, before) = (several(&[1, 1, 1, 2]), several(&[0, 1, 2, 3]));
        let (after, sizes) = (several(&[0, 1, 2]), several(&[1, 4, 7, 9, 16, 21]));
        let windows = Windows {
            kernel: &kernel,
            stride: &stride,
            before: &before,
            after: &after,
            dilation: &dilation,
        };
        if windows.count(&sizes).is_err() {
            continue;
        }
        done += 1;
        let groups = [1, 1, 2, 5][rng.below(4)];
        let (into, out) = ([1, 1, 3, 16, 34][rng.below(5)], [1, 1, 7, 20, 32, 40][rng.below(6)]);
        let x_dims = with_spatial(1 + rng.below(3), groups * into, &sizes);
        let weight_dims = with_spatial(groups * out, into, &kernel);
        let case = Case::of(&mut rng, &x_dims, &weight_dims, &windows, groups);
        case.check(0, case.planes.forward_way());
        case.check(1, case.planes.data_way());
        case.check(2, case.planes.weights_way());
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn strides_are_phases_on_the_way_back() {
    let Some(_level) = widest() else { return };
    let mut rng = Rng::new(39);
    for sizes in [
        [3, 1, 32, 16, 14, 14, 4, 2, 1, 1, 1],
        [2, 1, 64, 7, 16, 15, 4, 2, 2, 1, 1],
        [1, 2, 30, 5, 24, 22, 6, 2, 2, 3, 1],
        [2, 1, 32, 9, 30, 31, 7, 2, 3, 3, 1],
        [1, 1, 32, 4, 33, 30, 7, 3, 2, 1, 1],
    ] {
        let case = Case::new(&mut rng, &sizes);
        assert_eq!(case.planes.data_way(), Way::Phases, "{:?}", case.planes);
        case.check(1, Way::Phases);
    }
}
