//! Random draws against the distributions they are to have. Seeds are fixed, so nothing here fails by
//! chance.

use fluvial_core::{DType, Dim, Result, Tensor, Type, Value, Var};
use fluvial_ops::*;
use fluvial_testkit::Modes;

const N: usize = 20_000;

/// The numbers that `f` draws from a state of its own.
fn drawn(f: impl Fn() -> Result<Var>) -> Vec<f64> {
    seed(3).expect("a seed");
    f().expect("numbers").tensor().expect("a tensor").to_f64s()
}

fn many(dtype: DType) -> Type {
    Type::of(dtype, &[N]).expect("a type")
}

/// Kolmogorov and Smirnov: the greatest distance between the share of numbers below `x` and the
/// probability of it. Above 1.63 / sqrt(n), chance is below one in a hundred.
fn fits(mut numbers: Vec<f64>, below: impl Fn(f64) -> f64) {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let (p, i) = (below(x), i as f64);
        (p - i / n).abs().max((p - (i + 1.0) / n).abs())
    };
    let worst = numbers.iter().enumerate().map(distance).fold(0.0, f64::max);
    assert!(worst < 1.63 / n.sqrt(), "{worst}");
}

/// The mean, within five standard errors.
fn has_mean(numbers: &[f64], mean: f64, deviation: f64) {
    let found = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let error = deviation / (numbers.len() as f64).sqrt();
    assert!((found - mean).abs() < 5.0 * error, "{found}, expected {mean}");
}

/// The standard normal distribution function, by the trapezoidal rule.
fn normal_below(x: f64) -> f64 {
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (low, steps) = (-9.0, 4000);
    let width = (x - low) / f64::from(steps);
    let inner: f64 = (1..steps).map(|i| density(low + f64::from(i) * width)).sum();
    width * (inner + 0.5 * (density(low) + density(x)))
}

#[test]
fn fractions() {
    for dtype in [DType::F32, DType::F64] {
        fits(drawn(|| uniform(&many(dtype), -1.0, 3.0)), |x| (x + 1.0) / 4.0);
        let few = Type::of(dtype, &[2000]).unwrap();
        fits(drawn(|| normal(&few, 1.0, 2.0)), |x| normal_below((x - 1.0) / 2.0));
        fits(drawn(|| exponential(&many(dtype), 2.0)), |x| 1.0 - (-x / 2.0).exp());
        let (low, high) = (normal_below(-0.5), normal_below(1.0));
        fits(drawn(|| truncated_normal(&few, 1.0, 2.0, 0.0, 3.0)), |x| {
            (normal_below((x - 1.0) / 2.0) - low) / (high - low)
        });
    }
}

#[test]
fn coins() {
    for p in [0.0, 0.001, 0.3, 0.5, 1.0] {
        let probability = full(&[Dim::size(N)], p, DType::F64).unwrap();
        let found = drawn(|| bernoulli(&probability));
        assert!(found.iter().all(|&x| x == 0.0 || x == 1.0));
        has_mean(&found, p, (p * (1.0 - p)).sqrt() + 1e-12);
    }
    // Narrow floats are compared with numbers drawn finely enough.
    let rare = full(&[Dim::size(N)], 0.001, DType::BF16).unwrap();
    let found = drawn(|| bernoulli(&rare));
    has_mean(&found, rare.tensor().unwrap().get_f64(&[0]).unwrap(), 0.001f64.sqrt());
    assert!(bernoulli(&Var::scalar(1i64)).unwrap_err().to_string().contains("are floats"));
}

#[test]
fn integers() {
    let found = drawn(|| randint(&many(DType::I32), -3, 4));
    for wanted in -3..4 {
        let hits: Vec<f64> =
            found.iter().map(|&x| f64::from(u8::from(x == f64::from(wanted)))).collect();
        has_mean(&hits, 1.0 / 7.0, (6.0f64 / 49.0).sqrt());
    }
}

#[test]
fn orders() {
    let mut counts = std::collections::BTreeMap::new();
    seed(4).unwrap();
    for _ in 0..6000 {
        let order = permutation(Dim::size(3)).unwrap().to_vec::<i64>().unwrap();
        *counts.entry(order).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|&count| (850..1150).contains(&count)), "{counts:?}");
}

#[test]
fn classes() {
    let shares = [1.0, 0.0, 3.0, 0.5, 0.0];
    let weights = Var::of(&[shares, [0.0, 0.0, 2.0, 0.0, 0.0]].concat(), &[2, 5]).unwrap();
    let found = drawn(|| multinomial(&weights, N, true));
    let (first, second) = found.split_at(N);
    for (class, share) in shares.iter().enumerate() {
        let hits: Vec<f64> =
            first.iter().map(|&x| f64::from(u8::from(x == class as f64))).collect();
        let p = share / 4.5;
        has_mean(&hits, p, (p * (1.0 - p)).sqrt() + 1e-12);
    }
    assert!(second.iter().all(|&class| class == 2.0));
}

#[test]
fn classes_without_replacement() {
    let weights = full(&[Dim::size(N), Dim::size(3)], 1.0, DType::F32).unwrap();
    let weights = (weights * Var::of(&[1.0f32, 2.0, 5.0], &[3]).unwrap()).check().unwrap();
    let found = drawn(|| multinomial(&weights, 2, false));
    let pairs: Vec<&[f64]> = found.chunks(2).collect();
    assert!(pairs.iter().all(|pair| pair[0] != pair[1]));
    let share = |first: f64, second: f64, p: f64| {
        let hits: Vec<f64> =
            pairs.iter().map(|pair| f64::from(u8::from(*pair == [first, second]))).collect();
        has_mean(&hits, p, (p * (1.0 - p)).sqrt());
    };
    share(0.0, 1.0, 1.0 / 8.0 * 2.0 / 7.0);
    share(0.0, 2.0, 1.0 / 8.0 * 5.0 / 7.0);
    share(2.0, 1.0, 5.0 / 8.0 * 2.0 / 3.0);
    let error = multinomial(&weights, 4, false).unwrap_err().to_string();
    assert!(error.contains("no 4 of 3 classes"), "{error}");
}

#[test]
fn both_modes_draw_the_same() {
    let n = Type::new(DType::F64, &[Dim::symbol("n").unwrap()]).unwrap();
    let weights = Tensor::from_slice(&[0.5, 0.25, 0.25, 1.0], &[4]).unwrap();
    let modes = Modes::of(|x| {
        let size = x[0].dims()[0];
        Ok(vec![
            permutation(size)?,
            bernoulli(&x[0])?,
            exponential(&x[0].ty(), 1.0)?,
            truncated_normal(&x[0].ty(), 0.0, 1.0, -1.0, 1.0)?,
            multinomial(&x[0], 3, true)?,
            multinomial(&x[0], 2, false)?,
        ])
    });
    let found = modes.order(0).types(&[n]).check(&[weights]);
    let order: &Value = &found.outputs[0];
    assert_eq!(order.ty().to_string(), "i64[4]");
}
