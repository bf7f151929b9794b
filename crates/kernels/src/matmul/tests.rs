//! Products against plain sums.

use fluvial_tensor::{DType, Tensor};

use super::*;
use crate::simd::{Level, force};
use crate::testing::Rng;

/// Plain sums in f64, which are exact for the numbers of these tests.
fn naive(a: &Tensor, b: &Tensor, batch: &[usize]) -> Vec<f64> {
    let (&[.., m, k], &[.., n]) = (a.dims(), b.dims()) else { panic!("not matrices") };
    let a = a.expand(&[batch, &[m, k]].concat()).unwrap().to_f64s();
    let b = b.expand(&[batch, &[k, n]].concat()).unwrap().to_f64s();
    let mut out = Vec::new();
    for number in 0..batch.iter().product() {
        for i in 0..m * n {
            let products =
                (0..k).map(|p| a[(number * m + i / n) * k + p] * b[(number * k + p) * n + i % n]);
            out.push(products.sum());
        }
    }
    out
}

#[test]
fn every_dtype_and_layout() {
    let mut rng = Rng::new(18);
    let shapes: [(&[usize], &[usize], &[usize]); 13] = [
        (&[1, 1], &[1, 1], &[]),
        (&[3, 4], &[4, 5], &[]),
        (&[1, 70], &[70, 1], &[]),
        (&[33, 17], &[17, 65], &[]),
        (&[1, 8], &[8, 40], &[]),
        (&[40, 8], &[8, 1], &[]),
        (&[2, 3, 4], &[4, 5], &[2]),
        (&[3, 4], &[2, 4, 5], &[2]),
        (&[2, 3, 4], &[2, 4, 5], &[2]),
        (&[2, 1, 3, 4], &[3, 4, 2], &[2, 3]),
        (&[2, 3, 1, 4], &[1, 1, 4, 2], &[2, 3]),
        (&[3, 0], &[0, 2], &[]),
        (&[0, 3, 2], &[2, 2], &[0]),
    ];
    for dtype in DType::ALL {
        for (a_dims, b_dims, batch) in shapes {
            let a = rng.tensor(dtype, a_dims);
            let b = rng.tensor(dtype, b_dims);
            let want = naive(&a, &b, batch);
            for _ in 0..3 {
                let got = matmul(&rng.scramble(&a), &rng.scramble(&b), DType::F64).unwrap();
                assert_eq!(got.dims()[..batch.len()], *batch);
                assert_eq!(got.to_f64s(), want, "{dtype} {a_dims:?} {b_dims:?}");
            }
        }
    }
}

#[test]
fn repeated_rows_and_columns() {
    let row = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
    let a = row.reshape(&[1, 3]).unwrap().expand(&[50, 3]).unwrap();
    let b = row.reshape(&[3, 1]).unwrap().expand(&[3, 40]).unwrap();
    assert_eq!(matmul(&a, &b, DType::F32).unwrap().to_vec::<f32>().unwrap(), [14.0; 2000]);
    let all = Tensor::scalar(2.0f64).expand(&[20, 20]).unwrap();
    assert_eq!(matmul(&all, &all, DType::F64).unwrap().to_vec::<f64>().unwrap(), [80.0; 400]);
}

#[test]
fn integers_wrap_and_bools_do_not() {
    let bytes = Tensor::full(&[2, 2], 100u8).unwrap();
    let product = |out| matmul(&bytes, &bytes, out).unwrap().to_f64s()[0];
    assert_eq!(product(DType::U8), (20_000 % 256) as f64);
    assert_eq!(product(DType::I32), 20_000.0);
    let truths = Tensor::full(&[1, 256], true).unwrap();
    let all = matmul(&truths, &truths.transpose(0, 1).unwrap(), DType::Bool).unwrap();
    assert!(all.item::<bool>().unwrap());
}

#[test]
fn not_a_number_spreads() {
    let a = Tensor::from_slice(&[0.0f32, 1.0], &[1, 2]).unwrap();
    let b = Tensor::from_slice(&[f32::INFINITY, 1.0, 2.0, f32::NAN], &[2, 2]).unwrap();
    assert!(matmul(&a, &b, DType::F32).unwrap().to_f64s().into_iter().all(f64::is_nan));
}

#[test]
fn faults() {
    let x = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
    let error = matmul(&x(&[2, 3]), &x(&[2, 3]), DType::F32).unwrap_err();
    assert_eq!(error.message(), "matrices of shapes [2, 3] and [2, 3] do not multiply");
    let error = matmul(&x(&[3]), &x(&[3, 2]), DType::F32).unwrap_err();
    assert_eq!(error.message(), "shapes [3] and [3, 2] are not both matrices");
    assert!(matmul(&x(&[2, 3, 4]), &x(&[3, 4, 5]), DType::F32).is_err());
}

/// The error of `got` in units of the rounding of `f32`, in relation to the sums of the absolute products.
fn error(a: &Tensor, b: &Tensor, got: &[f64], batch: &[usize]) -> f64 {
    let abs = |x: &Tensor| {
        let values: Vec<f64> = x.to_f64s().into_iter().map(f64::abs).collect();
        Tensor::from_f64s(DType::F64, &values, x.dims()).unwrap()
    };
    let (want, size) = (naive(a, b, batch), naive(&abs(a), &abs(b), batch));
    let errors = got.iter().zip(&want).zip(&size).map(|((got, want), size)| {
        (got - want).abs() / (size * f32::EPSILON as f64).max(f64::MIN_POSITIVE)
    });
    errors.fold(0.0, f64::max)
}

/// Numbers with all digits.
fn gaussian(rng: &mut Rng, dims: &[usize]) -> Tensor {
    let values: Vec<f32> =
        (0..dims.iter().product()).map(|_| rng.uniform(-1.0, 1.0) as f32).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

#[test]
fn every_kernel_and_every_tail() {
    let mut rng = Rng::new(5);
    let sizes = [1, 2, 3, 7, 14, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100];
    for level in Level::ALL {
        let _forced = force(level);
        let kernel = tile::Kernel::best();
        for _ in 0..100 {
            let mut pick = || sizes[rng.below(sizes.len())];
            let (m, n) = (pick(), pick());
            let k = [1, 2, 15, 16, 17, 64, 255, 256, 257, 520, 1024][rng.below(11)];
            let (a, b) = (gaussian(&mut rng, &[m, k]), gaussian(&mut rng, &[k, n]));
            let want = naive(&a, &b, &[]);
            let (scrambled_a, scrambled_b) = (rng.scramble(&a), rng.scramble(&b));
            let mut out = vec![f32::NAN; m * (n + 3)];
            let part = own::Part {
                sizes: matrix::Sizes { m, k, n },
                a: matrix::Matrix::of(&scrambled_a, 0),
                b: matrix::Matrix::of(&scrambled_b, 0),
                out: out.as_mut_ptr(),
                out_row: n + 3,
                next: None,
            };
            // SAFETY: the matrices are those of the tensors, and the output has room.
            unsafe { own::product(kernel, part).unwrap() };
            for (row, out) in out.chunks(n + 3).enumerate() {
                assert!(out[n..].iter().all(|x| x.is_nan()), "{m} {k} {n}");
                for (got, want) in out.iter().zip(&want[row * n..(row + 1) * n]) {
                    let bound = 4e-6 * (k as f64).sqrt() + 1e-6;
                    assert!((*got as f64 - want).abs() < bound, "{m} {k} {n}: {got} {want}");
                }
            }
        }
    }
}

#[test]
fn large_products_of_every_layout() {
    let mut rng = Rng::new(10);
    let shapes: [(&[usize], &[usize], &[usize]); 7] = [
        (&[65, 65], &[65, 97], &[]),
        (&[99, 383], &[383, 161], &[]),
        (&[140, 770], &[770, 127], &[]),
        (&[1030, 6], &[6, 1100], &[]),
        (&[71, 385], &[385, 129], &[]),
        (&[2, 300, 150], &[2, 150, 200], &[2]),
        (&[128, 1030], &[1030, 96], &[]),
    ];
    for (a_dims, b_dims, batch) in shapes {
        let (a, b) = (rng.tensor(DType::F32, a_dims), rng.tensor(DType::F32, b_dims));
        let want = naive(&a, &b, batch);
        let turned = |x: &Tensor| {
            let last = x.rank() - 1;
            x.transpose(last - 1, last).unwrap().contiguous().unwrap().transpose(last - 1, last)
        };
        let (turned_a, turned_b) = (turned(&a).unwrap(), turned(&b).unwrap());
        let (any_a, any_b) = (rng.scramble(&a), rng.scramble(&b));
        for (a, b) in [(&a, &b), (&turned_a, &b), (&a, &turned_b), (&any_a, &any_b)] {
            let got = matmul(a, b, DType::F32).unwrap();
            assert!(got.to_f64s() == want, "{a_dims:?} {b_dims:?} {:?}", a.strides());
        }
    }
}

/// Products of `bf16` that are exact: also in pairs, where the machine has them, with odd chains and in all layouts.
#[test]
fn products_of_bf16_in_every_layout() {
    let mut rng = Rng::new(21);
    let shapes: [(&[usize], &[usize], &[usize]); 10] = [
        (&[8, 1024], &[1024, 32], &[]),
        (&[64, 64], &[64, 65], &[]),
        (&[65, 65], &[65, 97], &[]),
        (&[99, 383], &[383, 161], &[]),
        (&[140, 770], &[770, 47], &[]),
        (&[1030, 2], &[2, 1100], &[]),
        (&[1030, 3], &[3, 1100], &[]),
        (&[2, 90, 51], &[2, 51, 80], &[2]),
        (&[3, 2, 40, 130], &[2, 130, 70], &[3, 2]),
        (&[4, 33, 130], &[130, 70], &[4]),
    ];
    for (a_dims, b_dims, batch) in shapes {
        let (a, b) = (rng.tensor(DType::BF16, a_dims), rng.tensor(DType::BF16, b_dims));
        let want = naive(&a, &b, batch);
        let turned = |x: &Tensor| {
            let last = x.rank() - 1;
            x.transpose(last - 1, last).unwrap().contiguous().unwrap().transpose(last - 1, last)
        };
        let (turned_a, turned_b) = (turned(&a).unwrap(), turned(&b).unwrap());
        let (any_a, any_b) = (rng.scramble(&a), rng.scramble(&b));
        let bias = rng.tensor(DType::F32, &b_dims[b_dims.len() - 1..]);
        let then = Epilogue { bias: Some(&bias), ..Epilogue::default() };
        let with_bias: Vec<f64> =
            want.iter().zip(bias.to_f64s().iter().cycle()).map(|(x, bias)| x + bias).collect();
        for (a, b) in
            [(&a, &b), (&turned_a, &b), (&a, &turned_b), (&turned_a, &turned_b), (&any_a, &any_b)]
        {
            let got = matmul(a, b, DType::F32).unwrap();
            assert!(got.to_f64s() == want, "{a_dims:?} {b_dims:?} {:?}", a.strides());
            let got = matmul_with(a, b, DType::F32, &then).unwrap();
            assert!(got.to_f64s() == with_bias, "{a_dims:?} {b_dims:?} with a bias");
        }
    }
}

#[test]
fn errors_of_bf16_stay_small() {
    let mut rng = Rng::new(22);
    for (m, k, n) in [(8, 4096, 50), (32, 2000, 70), (70, 3001, 70), (200, 60, 300)] {
        let half = |x: Tensor| x.cast(DType::BF16).unwrap();
        let (a, b) = (half(gaussian(&mut rng, &[m, k])), half(gaussian(&mut rng, &[k, n])));
        let got = matmul(&a, &b, DType::F32).unwrap();
        let error = error(&a, &b, &got.to_f64s(), &[]);
        assert!(error < 8.0, "{m} {k} {n}: {error}");
        let spread = half(Tensor::full(&[m, k], f32::NAN).unwrap());
        let got = matmul(&spread, &b, DType::BF16).unwrap();
        assert!(got.to_f64s().into_iter().all(f64::is_nan));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    // The order of a sum depends on the instructions: nobody else may change them meanwhile.
    let _forced = force(Level::Avx512);
    let mut rng = Rng::new(6);
    let shapes: [(&[usize], &[usize]); 10] = [
        (&[128, 128], &[128, 128]),
        (&[300, 200], &[200, 310]),
        (&[32, 1024], &[1024, 500]),
        (&[400, 300], &[300, 500]),
        (&[12, 40, 64], &[12, 64, 40]),
        (&[6, 130, 70], &[70, 90]),
        (&[1, 600], &[600, 2100]),
        (&[700, 600], &[600, 1]),
        (&[5, 1, 300], &[5, 300, 700]),
        (&[33, 10], &[10, 129]),
    ];
    for (a_dims, b_dims) in shapes {
        let (a, b) = (gaussian(&mut rng, a_dims), gaussian(&mut rng, b_dims));
        for _ in 0..3 {
            let (a, b) = (rng.scramble(&a), rng.scramble(&b));
            let bias = gaussian(&mut rng, &b_dims[b_dims.len() - 1..]);
            let activation = Some(Activation::Sigmoid);
            let then = Epilogue { bias: Some(&bias), activation, ..Epilogue::default() };
            let half = |x: &Tensor| x.cast(DType::BF16).unwrap();
            let results: Vec<Vec<Tensor>> = [1, 2, 3, 8]
                .map(|threads| {
                    crate::threads::set_count(threads);
                    vec![
                        matmul(&a, &b, DType::F32).unwrap(),
                        matmul(&a, &b, DType::F64).unwrap(),
                        matmul_with(&a, &b, DType::F32, &then).unwrap(),
                        matmul(&half(&a), &half(&b), DType::F32).unwrap(),
                    ]
                })
                .into();
            for other in &results[1..] {
                let equal = results[0].iter().zip(other).all(|(x, y)| x.bitwise_eq(y));
                assert!(equal, "{a_dims:?} {b_dims:?}");
            }
        }
    }
}

#[test]
fn errors_stay_small() {
    let mut rng = Rng::new(7);
    for (m, k, n) in [(1, 4096, 50), (50, 4096, 1), (32, 2000, 70), (70, 3000, 70), (40, 60, 80)] {
        let (a, b) = (gaussian(&mut rng, &[m, k]), gaussian(&mut rng, &[k, n]));
        for _ in 0..4 {
            let got = matmul(&rng.scramble(&a), &rng.scramble(&b), DType::F32).unwrap();
            let error = error(&a, &b, &got.to_f64s(), &[]);
            assert!(error < 8.0, "{m} {k} {n}: {error}");
        }
    }
}

#[test]
fn epilogues_on_every_path() {
    let mut rng = Rng::new(8);
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[3, 4], &[4, 5]),
        (&[1, 9], &[9, 40]),
        (&[40, 9], &[9, 1]),
        (&[32, 300], &[300, 200]),
        (&[200, 100], &[100, 300]),
        (&[4, 50, 20], &[4, 20, 60]),
        (&[2, 3, 0], &[0, 5]),
        (&[0, 5], &[5, 3]),
        (&[2, 70, 30], &[30, 40]),
    ];
    type Row = (Option<Activation>, fn(f64) -> f64);
    let functions: [Row; 6] = [
        (None, |x| x),
        (Some(Activation::Relu), |x| x.max(0.0)),
        (Some(Activation::Tanh), f64::tanh),
        (Some(Activation::Sigmoid), |x| 1.0 / (1.0 + (-x).exp())),
        (Some(Activation::Silu), |x| x / (1.0 + (-x).exp())),
        (Some(Activation::GeluTanh), |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
    ];
    for (a_dims, b_dims) in shapes {
        let (a, b) = (gaussian(&mut rng, a_dims), gaussian(&mut rng, b_dims));
        let plain = matmul(&a, &b, DType::F32).unwrap();
        let n = b_dims[b_dims.len() - 1];
        let bias = gaussian(&mut rng, &[n]);
        let residual = gaussian(&mut rng, plain.dims());
        for (activation, function) in functions {
            let then = Epilogue {
                scale: Some(0.5),
                bias: Some(&bias),
                activation,
                residual: Some(&residual),
            };
            let (bias, residual) = (bias.to_f64s(), residual.to_f64s());
            let want: Vec<f64> = plain
                .to_f64s()
                .iter()
                .enumerate()
                .map(|(i, x)| function(0.5 * x + bias[i % n]) + residual[i])
                .collect();
            let got = matmul_with(&a, &b, DType::F32, &then).unwrap();
            assert_eq!(got.dims(), plain.dims());
            for (got, want) in got.to_f64s().iter().zip(&want) {
                assert!((got - want).abs() < 1e-5, "{a_dims:?} {activation:?}: {got} {want}");
            }
        }
    }
}

#[test]
fn outputs_of_other_dtypes() {
    let mut rng = Rng::new(9);
    let (a, b) = (rng.tensor(DType::BF16, &[3, 4]), rng.tensor(DType::BF16, &[4, 2]));
    let wide = matmul(&a, &b, DType::F32).unwrap();
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let found = matmul(&a, &b, dtype).unwrap();
        assert!(found.bitwise_eq(&wide.cast(dtype).unwrap()), "{dtype}");
    }
    let bias = Tensor::zeros(DType::F32, &[3]).unwrap();
    let then = Epilogue { bias: Some(&bias), ..Epilogue::default() };
    let error = matmul_with(&a, &b, DType::F32, &then).unwrap_err();
    assert_eq!(error.message(), "a bias of shape [3] does not fit 2 columns");
}
