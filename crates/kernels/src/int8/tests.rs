use super::dot::Set;
use super::linear::{Out, products};
use super::*;
use crate::conv::Windows;
use crate::lanes::Parts;
use crate::simd::{Level, force};
use crate::testing::Rng;
use crate::threads;

fn random(rng: &mut Rng, dtype: DType, dims: &[usize]) -> Tensor {
    let n = dims.iter().product::<usize>();
    let values: Vec<u8> = (0..n).map(|_| rng.bits() as u8).collect();
    match dtype {
        DType::U8 => Tensor::from_slice(&values, dims).unwrap(),
        _ => {
            let signed: Vec<i8> = values.iter().map(|&x| x as i8).collect();
            Tensor::from_slice(&signed, dims).unwrap()
        }
    }
}

/// The sums by their definition.
fn naive(x: &Tensor, weight: &Tensor, zero: i64) -> Vec<i32> {
    let (m, k, n) = (x.dims()[0], x.dims()[1], weight.dims()[0]);
    let (x, weight) = (x.to_f64s(), weight.to_f64s());
    let term =
        |i: usize, j: usize, p: usize| (x[i * k + p] as i64 - zero) * weight[j * k + p] as i64;
    let sum = |i: usize| (0..k).map(|p| term(i / n, i % n, p)).sum::<i64>() as i32;
    (0..m * n).map(sum).collect()
}

#[test]
fn every_set_of_instructions_gives_the_same_sums() {
    let mut rng = Rng::new(1);
    let shapes = [
        (1, 1, 1),
        (1, 64, 64),
        (3, 7, 17),
        (5, 130, 33),
        (13, 64, 80),
        (29, 31, 16),
        (200, 12, 70),
        (2, 0, 3),
        (0, 4, 3),
    ];
    for (m, k, n) in shapes {
        let x = random(&mut rng, DType::U8, &[m, k]);
        let weight = random(&mut rng, DType::I8, &[n, k]);
        let packed = pack_int8(&weight, 1).unwrap();
        let expected = naive(&x, &weight, 77);
        for set in Set::all(Level::Avx512) {
            let mut out = Tensor::empty(DType::I32, &[m, n]).unwrap();
            let parts = Out::Sums(Parts::new(out.as_mut_slice().unwrap()));
            products(&x, &packed, n, set, Sink::Sums { zero: 77 }, &parts).unwrap();
            assert_eq!(out.to_vec::<i32>().unwrap(), expected, "{set:?} {m}x{k}x{n}");
        }
    }
}

#[test]
fn sums_reach_the_ends_of_the_types() {
    let (x, k) = (255u8, 999);
    for weight in [-128i8, 127] {
        let x = Tensor::full(&[2, k], x).unwrap();
        let packed = pack_int8(&Tensor::full(&[3, k], weight).unwrap(), 1).unwrap();
        for set in Set::all(Level::Avx512) {
            let mut out = Tensor::empty(DType::I32, &[2, 3]).unwrap();
            let parts = Out::Sums(Parts::new(out.as_mut_slice().unwrap()));
            products(&x, &packed, 3, set, Sink::Sums { zero: 0 }, &parts).unwrap();
            let expected = 255 * i32::from(weight) * k as i32;
            assert_eq!(out.to_vec::<i32>().unwrap(), [expected; 6], "{set:?}");
        }
    }
}

#[test]
fn numbers_are_the_same_on_every_level_and_for_any_number_of_threads() {
    let mut rng = Rng::new(2);
    let (m, k, n) = (70, 300, 90);
    let x = random(&mut rng, DType::U8, &[2, m / 2, k]);
    let packed = pack_int8(&random(&mut rng, DType::I8, &[n, k]), 1).unwrap();
    let scale: Vec<f32> = (0..n).map(|_| rng.uniform(0.001, 0.1) as f32).collect();
    let bias: Vec<f32> = (0..n).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
    for (bias, relu) in [(None, false), (Some(&bias[..]), false), (Some(&bias[..]), true)] {
        let then = Int8Epilogue { scale: 0.02, zero: 131, weight_scale: &scale, bias, relu };
        let expected = int8_linear(&x, &packed, n, &then).unwrap();
        assert_eq!(expected.dims(), [2, m / 2, n]);
        let before = threads::count();
        for count in [1, 2, 3, 8] {
            threads::set_count(count);
            for level in Level::ALL {
                let _forced = force(level);
                let found = int8_linear(&x, &packed, n, &then).unwrap();
                assert!(found.bitwise_eq(&expected), "{level:?} {count}");
            }
        }
        threads::set_count(before);
    }
}

/// A convolution of integers, through `f64`, in which it is exact.
fn conv_by_floats(
    x: &Tensor,
    weight: &Tensor,
    windows: &Windows<'_>,
    groups: usize,
    x_zero: f64,
    weight_zero: &[i32],
) -> Vec<i32> {
    let less = |x: &Tensor, zero: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = x.to_f64s().iter().enumerate().map(|(i, x)| x - zero(i)).collect();
        Tensor::from_f64s(DType::F64, &values, x.dims()).unwrap()
    };
    let of_channel = weight.dims()[1..].iter().product::<usize>();
    let zero = |i: usize| {
        let channel = if weight_zero.len() == 1 { 0 } else { i / of_channel };
        f64::from(weight_zero[channel])
    };
    let (x, weight) = (less(x, &|_| x_zero), less(weight, &zero));
    let out = crate::conv::conv(&x, &weight, windows, groups, DType::F64).unwrap();
    out.to_f64s().iter().map(|&x| x as i32).collect()
}

#[test]
fn convolutions_are_those_of_floats() {
    let mut rng = Rng::new(3);
    let cases: [(&[usize], &[usize], usize, [&[usize]; 4]); 8] = [
        (&[2, 3, 9, 11], &[20, 3, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1], &[1, 1]]),
        (&[1, 8, 16, 16], &[16, 8, 1, 1], 1, [&[1, 1], &[0, 0], &[0, 0], &[1, 1]]),
        (&[1, 5, 7, 7], &[9, 5, 3, 3], 1, [&[2, 2], &[1, 0], &[0, 1], &[1, 1]]),
        (&[2, 4, 8, 8], &[6, 2, 2, 3], 2, [&[1, 2], &[0, 1], &[1, 1], &[2, 1]]),
        (&[1, 3, 20], &[5, 3, 4], 1, [&[1], &[2], &[1], &[1]]),
        (&[1, 2, 4, 5, 6], &[3, 2, 2, 3, 2], 1, [&[1, 1, 2], &[0, 1, 0], &[1, 1, 1], &[1, 1, 1]]),
        (&[1, 1, 2, 2], &[1, 1, 2, 2], 1, [&[1, 1], &[0, 0], &[0, 0], &[1, 1]]),
        (&[0, 1, 2, 2], &[1, 1, 2, 2], 1, [&[1, 1], &[0, 0], &[0, 0], &[1, 1]]),
    ];
    for (x_dims, w_dims, groups, [stride, before, after, dilation]) in cases {
        let windows = Windows { kernel: &w_dims[2..], stride, before, after, dilation };
        let zeros: Vec<i32> = (0..w_dims[0]).map(|i| i as i32 % 5 - 2).collect();
        for (of_x, of_w, x_zero, w_zero) in [
            (DType::U8, DType::I8, 3, vec![0]),
            (DType::I8, DType::I8, -7, zeros.clone()),
            (DType::U8, DType::U8, 200, vec![128]),
        ] {
            let x = random(&mut rng, of_x, x_dims);
            let weight = random(&mut rng, of_w, w_dims);
            let expected =
                conv_by_floats(&x, &weight, &windows, groups, f64::from(x_zero), &w_zero);
            for level in Level::ALL {
                let _forced = force(level);
                let found = conv_integer(&x, &weight, &windows, groups, x_zero, &w_zero).unwrap();
                assert_eq!(found.to_vec::<i32>().unwrap(), expected, "{x_dims:?} {level:?}");
            }
        }
        let x = random(&mut rng, DType::U8, x_dims);
        let weight = random(&mut rng, DType::I8, w_dims);
        let packed = pack_int8(&weight, groups).unwrap();
        let scale: Vec<f32> = (0..w_dims[0]).map(|i| 0.5 + i as f32).collect();
        let bias: Vec<f32> = (0..w_dims[0]).map(|i| i as f32 - 2.5).collect();
        let then = Int8Epilogue {
            scale: 0.25,
            zero: 9,
            weight_scale: &scale,
            bias: Some(&bias),
            relu: true,
        };
        let sums = conv_by_floats(&x, &weight, &windows, groups, 9.0, &[0]);
        let found = int8_conv(&x, &packed, w_dims[0], &windows, &then).unwrap();
        let pixels = found.dims()[2..].iter().product::<usize>();
        let number = |(i, sum): (usize, &i32)| {
            let channel = i / pixels % w_dims[0];
            (*sum as f32 * (0.25 * scale[channel]) + bias[channel]).max(0.0)
        };
        let expected: Vec<f32> = sums.iter().enumerate().map(number).collect();
        assert_eq!(found.to_vec::<f32>().unwrap(), expected, "{x_dims:?}");
    }
}

#[test]
fn products_of_integers_take_zero_points_of_rows_and_columns() {
    let mut rng = Rng::new(4);
    let (m, k, n) = (5, 19, 7);
    let rows: Vec<i32> = (0..m as i32).map(|i| 10 * i).collect();
    let columns: Vec<i32> = (0..n as i32).map(|i| 3 - i).collect();
    for of_a in [DType::U8, DType::I8] {
        for of_b in [DType::U8, DType::I8] {
            for (a_zero, b_zero) in [(&rows[..], &columns[..]), (&[4][..], &[0][..])] {
                let a = random(&mut rng, of_a, &[m, k]);
                let turned = random(&mut rng, of_b, &[n, k]);
                let b = turned.transpose(0, 1).unwrap();
                let found = matmul_integer(&a, &b, a_zero, b_zero).unwrap();
                let (a, b) = (a.to_f64s(), b.to_f64s());
                let zero = |zeros: &[i32], i: usize| zeros[i % zeros.len()] as i64;
                let expected: Vec<i32> = (0..m * n)
                    .map(|i| {
                        let term = |p: usize| {
                            (a[i / n * k + p] as i64 - zero(a_zero, i / n))
                                * (b[p * n + i % n] as i64 - zero(b_zero, i % n))
                        };
                        (0..k).map(term).sum::<i64>() as i32
                    })
                    .collect();
                assert_eq!(found.to_vec::<i32>().unwrap(), expected);
            }
        }
    }
}

#[test]
fn numbers_become_the_nearest_steps() {
    let x = Tensor::from_slice(
        &[0.0f32, 0.5, 1.5, -0.5, -1.0, 300.0, -300.0, f32::INFINITY, f32::NAN],
        &[9],
    )
    .unwrap();
    for level in Level::ALL {
        let _forced = force(level);
        let found = quantize(&x, 1.0, 2, DType::U8).unwrap();
        assert_eq!(found.to_vec::<u8>().unwrap(), [2, 2, 4, 2, 1, 255, 0, 255, 0]);
        let found = quantize(&x, 1.0, -2, DType::I8).unwrap();
        assert_eq!(found.to_vec::<i8>().unwrap(), [-2, -2, 0, -2, -3, 127, -128, 127, -128]);
    }
    assert!(quantize(&x, 1.0, 0, DType::I32).is_err());
}

#[test]
fn a_scale_reaches_over_all_elements_and_zero() {
    let of = |values: &[f32]| {
        dynamic_scale(&Tensor::from_slice(values, &[values.len()]).unwrap()).unwrap()
    };
    assert_eq!(of(&[1.0, 2.55]), (0.01, 0));
    assert_eq!(of(&[-2.55, -1.0]), (0.01, 255));
    assert_eq!(of(&[0.0, 0.0]), (0.0, 0));
    assert_eq!(of(&[]), (0.0, 0));
    assert!(of(&[1.0, f32::NAN]).0.is_nan());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let weight = Tensor::full(&[4, 3], 1i8).unwrap();
    assert!(pack_int8(&weight, 3).is_err());
    assert!(pack_int8(&Tensor::full(&[4, 3], 1u8).unwrap(), 1).is_err());
    let packed = pack_int8(&weight, 1).unwrap();
    assert!(unpack_int8(&packed, &[4, 9]).is_err());
    let then =
        Int8Epilogue { scale: 1.0, zero: 0, weight_scale: &[1.0; 4], bias: None, relu: false };
    let x = |k| Tensor::full(&[1, k], 1u8).unwrap();
    assert!(int8_linear(&x(3), &packed, 4, &then).is_ok());
    assert!(int8_linear(&x(9), &packed, 4, &then).is_err());
    assert!(int8_linear(&x(3), &packed, 3, &then).is_err());
    let long = MAX_PRODUCTS + 1;
    let packed = pack_int8(&Tensor::full(&[4, long], 1i8).unwrap(), 1).unwrap();
    let error = int8_linear(&x(long), &packed, 4, &then).unwrap_err();
    assert!(error.message().contains("may not fit into 32 bits"));
}
