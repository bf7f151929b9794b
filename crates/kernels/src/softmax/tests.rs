use super::*;
use crate::testing::Rng;

#[test]
fn every_axis_is_the_last_one_moved() {
    let mut rng = Rng::new(31);
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let x = rng.tensor(dtype, &[2, 3, 4]);
        let x = rng.scramble(&x);
        for kind in [Softmax::Plain, Softmax::Log] {
            for axis in 0..3 {
                let moved = softmax(kind, &x.transpose(axis, 2).unwrap(), 2).unwrap();
                let found = softmax(kind, &x, axis).unwrap();
                assert!(found.bitwise_eq(&moved.transpose(axis, 2).unwrap()));
            }
        }
    }
}

#[test]
fn rows_without_a_finite_largest_element_are_nan() {
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    for row in [[low, low], [high, 0.0], [f64::NAN, 0.0]] {
        for dims in [&[1, 2, 1][..], &[2, 1]] {
            let x = Tensor::from_slice(&row, dims).unwrap();
            let found = softmax(Softmax::Plain, &x, dims.len() - 2).unwrap().to_f64s();
            assert!(found.iter().all(|x| x.is_nan()), "{row:?}");
        }
    }
    let x = Tensor::from_slice(&[low, 3.0], &[2]).unwrap();
    assert_eq!(softmax(Softmax::Plain, &x, 0).unwrap().to_f64s(), [0.0, 1.0]);
    assert_eq!(softmax(Softmax::Log, &x, 0).unwrap().to_f64s(), [low, 0.0]);
}

#[test]
fn faults() {
    let x = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
    assert_eq!(softmax(Softmax::Plain, &x, 1).unwrap().dims(), [2, 0]);
    assert!(softmax(Softmax::Plain, &x, 2).is_err());
    assert!(softmax(Softmax::Plain, &Tensor::scalar(1.0f32), 0).is_err());
    assert!(softmax(Softmax::Log, &x.cast(DType::I64).unwrap(), 0).is_err());
}

#[test]
fn powers_are_accurate() {
    let mut worst = 0.0f64;
    for i in 0..200_000 {
        let x = -(i as f32) * 5e-4;
        let (found, exact) = (f64::from(x.power()), f64::from(x).exp());
        if x > -87.0 {
            worst = worst.max((found / exact - 1.0).abs());
        } else {
            assert!((found - exact).abs() < 3e-45, "{x}: {found} for {exact}");
        }
    }
    assert!(worst < 1.3e-7, "{worst}");
    assert_eq!((0f32.power(), f32::NEG_INFINITY.power()), (1.0, 0.0));
    assert!(f32::NAN.power().is_nan());
}

#[test]
fn entropies_and_their_gradients_are_those_of_plain_formulas() {
    let mut rng = Rng::new(5);
    for (rows, n) in [(1, 1), (3, 7), (5, 33), (70, 501), (2, 20_000)] {
        let x = rng.tensor(DType::F64, &[rows, n]);
        let classes: Vec<i64> = (0..rows).map(|_| rng.below(n) as i64).collect();
        let targets = Tensor::from_slice(&classes, &[rows]).unwrap();
        let y = softmax(Softmax::Plain, &x, 1).unwrap().to_f64s();
        let logs = softmax(Softmax::Log, &x, 1).unwrap().to_f64s();
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
            let narrow = x.cast(dtype).unwrap();
            let (losses, grad) = cross_entropy(&narrow, &targets, 0.5, None).unwrap();
            let (losses, grad) = (losses.to_f64s(), grad.to_f64s());
            for row in 0..rows {
                let class = classes[row] as usize;
                assert!((losses[row] + logs[row * n + class]).abs() < tolerance * 20.0);
                for i in 0..n {
                    let want = (y[row * n + i] - f64::from(u8::from(i == class))) * 0.5;
                    assert!((grad[row * n + i] - want).abs() < tolerance);
                }
            }
        }
    }
    let x = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
    let targets = Tensor::from_slice(&[-1i64, 5], &[2]).unwrap();
    assert!(cross_entropy(&x, &targets, 1.0, Some(-1)).is_err());
    let targets = Tensor::from_slice(&[-1i64, 0], &[2]).unwrap();
    let (losses, grad) = cross_entropy(&x, &targets, 1.0, Some(-1)).unwrap();
    assert_eq!((losses.to_f64s()[0], grad.to_f64s()[..3].to_vec()), (0.0, vec![0.0; 3]));
}

#[test]
fn bits_do_not_depend_on_threads_or_instructions() {
    let mut rng = Rng::new(6);
    let x = rng.tensor(DType::F32, &[150, 333]);
    let want = softmax(Softmax::Plain, &x, 1).unwrap();
    for level in crate::simd::Level::ALL {
        let _forced = crate::simd::force(level);
        for threads in [1, 2, 3, 8] {
            crate::threads::set_count(threads);
            assert!(softmax(Softmax::Plain, &x, 1).unwrap().bitwise_eq(&want));
        }
    }
}
