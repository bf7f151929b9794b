use super::*;
use crate::testing::Rng;
use fluvial_tensor::DType;

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64s().into_iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
}

/// Compares each gradient with differences of `dot(f(…), grad)`, in `f64`.
fn check(
    f: &dyn Fn([&Tensor; 3]) -> Tensor,
    inputs: [&Tensor; 3],
    grad: &Tensor,
    found: [&Tensor; 3],
) {
    for which in 0..3 {
        let values = inputs[which].to_f64s();
        for i in (0..values.len()).step_by(1 + values.len() / 7) {
            let at = |step: f64| {
                let mut moved = values.clone();
                moved[i] += step;
                let moved = Tensor::from_f64s(DType::F64, &moved, inputs[which].dims()).unwrap();
                let mut inputs = inputs;
                inputs[which] = &moved;
                dot(&f(inputs), grad)
            };
            let want = (at(1e-5) - at(-1e-5)) / 2e-5;
            let found = found[which].to_f64s()[i];
            assert!(
                (found - want).abs() < 1e-4 * (1.0 + want.abs()),
                "{which}: {found} for {want}"
            );
        }
    }
}

#[test]
fn gradients_of_rows() {
    let mut rng = Rng::new(1);
    for (rows, n) in [(1, 5), (3, 40), (200, 70)] {
        let x = rng.tensor(DType::F64, &[rows, n]);
        let (weight, bias) = (rng.tensor(DType::F64, &[n]), rng.tensor(DType::F64, &[n]));
        let grad = rng.tensor(DType::F64, &[rows, n]);
        let run = |[x, w, b]: [&Tensor; 3]| layer_norm(x, n, Some(w), Some(b), 0.1).unwrap();
        let (_, mean, rstd) = run([&x, &weight, &bias]);
        let (dx, dw, db) = layer_norm_grad(&grad, &x, &mean, &rstd, Some(&weight), n).unwrap();
        check(&|inputs| run(inputs).0, [&x, &weight, &bias], &grad, [&dx, &dw, &db]);
        let run = |[x, w, _]: [&Tensor; 3]| rms_norm(x, n, Some(w), 0.1).unwrap();
        let (_, rstd) = run([&x, &weight, &bias]);
        let (dx, dw) = rms_norm_grad(&grad, &x, &rstd, Some(&weight), n).unwrap();
        let zero = Tensor::zeros(DType::F64, &[n]).unwrap();
        check(&|inputs| run(inputs).0, [&x, &weight, &bias], &grad, [&dx, &dw, &zero]);
    }
}

#[test]
fn gradients_of_planes() {
    let mut rng = Rng::new(2);
    for dims in [&[3, 4][..], &[2, 6, 5], &[3, 2, 4, 7]] {
        let channels = dims[1];
        let x = rng.tensor(DType::F64, dims);
        let params = [(); 2].map(|_| rng.tensor(DType::F64, &[channels]));
        let (weight, bias) = (&params[0], &params[1]);
        let grad = rng.tensor(DType::F64, dims);
        let run = |[x, w, b]: [&Tensor; 3]| batch_norm(x, Some(w), Some(b), 0.1).unwrap();
        let (_, mean, rstd) = run([&x, weight, bias]);
        let (dx, dw, db) = batch_norm_grad(&grad, &x, &mean, &rstd, Some(weight)).unwrap();
        check(&|inputs| run(inputs).0, [&x, weight, bias], &grad, [&dx, &dw, &db]);
        let run = |[x, w, b]: [&Tensor; 3]| group_norm(x, 2, Some(w), Some(b), 0.1).unwrap();
        let (_, mean, rstd) = run([&x, weight, bias]);
        let (dx, dw, db) = group_norm_grad(&grad, &x, 2, &mean, &rstd, Some(weight)).unwrap();
        check(&|inputs| run(inputs).0, [&x, weight, bias], &grad, [&dx, &dw, &db]);
    }
}

#[test]
fn narrow_results_are_near_wide_ones_also_far_from_zero() {
    let mut rng = Rng::new(3);
    let values: Vec<f64> = (0..6 * 9000).map(|_| 1000.0 + rng.uniform(-1.0, 1.0)).collect();
    let narrow = Tensor::from_f64s(DType::F32, &values, &[2, 3, 9000]).unwrap();
    let wide = narrow.cast(DType::F64).unwrap();
    let pairs = [
        (layer_norm(&narrow, 9000, None, None, 1e-5), layer_norm(&wide, 9000, None, None, 1e-5)),
        (batch_norm(&narrow, None, None, 1e-5), batch_norm(&wide, None, None, 1e-5)),
        (group_norm(&narrow, 3, None, None, 1e-5), group_norm(&wide, 3, None, None, 1e-5)),
    ];
    for (narrow, wide) in pairs {
        let (narrow, wide) = (narrow.unwrap().0.to_f64s(), wide.unwrap().0.to_f64s());
        for (a, b) in narrow.into_iter().zip(wide) {
            assert!((a - b).abs() < 1e-4, "{a} for {b}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_instructions() {
    let mut rng = Rng::new(4);
    let x = rng.tensor(DType::F32, &[40, 8, 131]);
    let grad = rng.tensor(DType::F32, &[40, 8, 131]);
    let all = || {
        let (y, mean, rstd) = batch_norm(&x, None, None, 1e-5).unwrap();
        let (dx, dw, db) = batch_norm_grad(&grad, &x, &mean, &rstd, None).unwrap();
        let (z, mean, rstd) = layer_norm(&x, 131, None, None, 1e-5).unwrap();
        let (ex, ew, eb) = layer_norm_grad(&grad, &x, &mean, &rstd, None, 131).unwrap();
        [y, dx, dw, db, z, ex, ew, eb]
    };
    let want = all();
    for level in crate::simd::Level::ALL {
        let _forced = crate::simd::force(level);
        for threads in [1, 2, 3, 8] {
            crate::threads::set_count(threads);
            for (found, want) in all().iter().zip(&want) {
                assert!(found.bitwise_eq(want));
            }
        }
    }
}

#[test]
fn faults() {
    let x = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
    assert!(
        layer_norm(&x, 4, None, None, 0.0).is_err() && layer_norm(&x, 0, None, None, 0.0).is_err()
    );
    assert!(layer_norm(&x, 3, Some(&x), None, 0.0).is_err());
    assert!(group_norm(&x, 2, None, None, 0.0).is_err());
    assert!(batch_norm(&x.cast(DType::I64).unwrap(), None, None, 0.0).is_err());
    assert!(batch_norm(&Tensor::scalar(1.0f32), None, None, 0.0).is_err());
}
