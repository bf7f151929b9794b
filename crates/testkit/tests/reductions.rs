//! Functions derived from reductions, scans and sorting: gradients to second order, symbolic sizes, and
//! what they refuse.

use fluvial_core::{DType, Dim, GradOptions, Result, Tensor, Type, Var, vjp};
use fluvial_ops::*;
use fluvial_testkit::{Modes, gradgradcheck};

fn tensor(elements: &[f64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).unwrap()
}

/// Different numbers, far enough from each other and from zero for finite differences.
fn spread(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let elements: Vec<f64> =
        (0..count).map(|i| ((i * 37 + 11) % 64) as f64 / 16.0 - 1.97).collect();
    tensor(&elements, dims)
}

#[test]
fn gradients_to_second_order() {
    let x = [spread(&[2, 3, 2])];
    for p in [0.5, 1.0, 1.5, 2.0, 3.0, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        gradgradcheck(|x| norm(&x[0], p, &[0, 2], false), &x);
    }
    gradgradcheck(|x| mean(&x[0], &[1], true), &x);
    gradgradcheck(|x| var(&x[0], &[0, 1], false, 1.0), &x);
    gradgradcheck(|x| std(&x[0], &[2], false, 0.0), &x);
    gradgradcheck(|x| median(&x[0], &[1, 2], true), &x);
    for method in [QuantileRule::Linear, QuantileRule::Weibull, QuantileRule::Nearest] {
        gradgradcheck(|x| quantiles(&x[0], &[0.1, 0.8], &[1], false, method), &x);
    }
    gradgradcheck(|x| Ok(sort(&x[0], 1, true)?.0), &x);
    gradgradcheck(|x| Ok(topk(&x[0], 2, 1, true)?.0), &x);
    gradgradcheck(|x| Ok(cummax(&x[0], 1)?.0), &x);
    gradgradcheck(|x| Ok(cummin(&x[0], -1)?.0), &x);
    gradgradcheck(|x| Ok(unique(&x[0])?.0), &x);
    gradgradcheck(|x| tril(&x[0], 0), &x);
}

/// The gradient of the sum.
fn slope(f: impl Fn(&Var) -> Result<Var>, x: Tensor) -> Vec<f64> {
    let x = Var::new(x).track().unwrap();
    let y = f(&x).unwrap();
    let found =
        vjp(&[&y], &[Some(&ones_like(&y.detach()).unwrap())], &[&x], GradOptions::default());
    found.unwrap()[0].as_ref().unwrap().tensor().unwrap().to_f64s()
}

#[test]
fn gradients_at_corners() {
    let zeros = || tensor(&[0.0; 3], &[3]);
    for p in [1.0, 1.5, 2.0, 3.0, 0.5] {
        assert_eq!(slope(|x| norm(x, p, &[], false), zeros()), [0.0; 3], "norm of order {p}");
    }
    assert_eq!(slope(|x| std(x, &[], false, 0.0), tensor(&[2.0], &[1])), [0.0]);
    assert_eq!(slope(|x| var(x, &[], false, 0.0), tensor(&[2.0], &[1])), [0.0]);
    let ties = || tensor(&[1.0, 3.0, 3.0, 3.0], &[4]);
    assert_eq!(slope(|x| max(x, &[], false), ties()), [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    let lowest = || tensor(&[f64::NEG_INFINITY; 2], &[2]);
    assert_eq!(slope(|x| logsumexp(x, &[], false), lowest()), [0.0; 2]);
    assert_eq!(slope(|x| logcumsumexp(x, 0), lowest()), [0.0; 2]);
    let later = tensor(&[f64::NEG_INFINITY, 0.0, 0.0], &[3]);
    assert_eq!(slope(|x| logcumsumexp(x, 0), later), [0.0, 1.5, 0.5]);
    assert_eq!(slope(|x| prod(x, &[], false), tensor(&[0.0, 2.0, 3.0], &[3])), [6.0, 0.0, 0.0]);
    assert_eq!(slope(|x| prod(x, &[], false), tensor(&[0.0, 2.0, 0.0], &[3])), [0.0; 3]);
}

#[test]
fn narrow_floats_are_added_up_in_wide_ones() {
    let x = full(&[Dim::size(70_000)], 2.5, DType::F16).unwrap();
    let item = |x: Result<Var>| {
        let x = x.unwrap();
        assert_eq!(x.dtype(), DType::F16);
        x.tensor().unwrap().item::<f64>().unwrap()
    };
    assert_eq!(item(mean(&x, &[], false)), 2.5);
    assert_eq!(item(var(&x, &[], false, 0.0)), 0.0);
    assert!((item(norm(&x, 2.0, &[], false)) - 661.5).abs() < 0.5);
}

#[test]
fn symbolic_sizes() {
    let ty = Type::parse("f64[n, m]").unwrap();
    let x = spread(&[4, 3]);
    let modes = Modes::of(|x| {
        let (x, [n, m]) = (&x[0], [x[0].dims()[0], x[0].dims()[1]]);
        Ok(vec![
            var(x, &[0], true, 1.0)?,
            std(x, &[], false, 0.0)?,
            norm(x, 3.0, &[1], false)?,
            median(x, &[0, 1], false)?,
            quantiles(x, &[0.25, 0.5], &[0], true, QuantileRule::Hazen)?,
            prod(x, &[0, 1], false)?,
            sort(x, 0, false)?.0,
            topk(x, 2, 1, true)?.0,
            cummax(x, 0)?.0,
            unique(x)?.0,
            tril(x, 0)? + eye(n, m, 1, DType::F64)?,
            x * linspace(0.0, 1.0, m, DType::F64)? + iota(m, DType::F64)?,
            full(&[m, n], 2.0, DType::F64)?,
            one_hot(&argmax(x, 1, false)?, m)?,
        ])
    });
    modes.types(&[ty]).order(1).check(&[x]);
}

#[test]
fn refused() {
    let x = Var::new(spread(&[2, 3]));
    let none = zeros(&[Dim::size(0)], DType::F32).unwrap();
    let cases: [(Result<Var>, &str); 13] = [
        (mean(&x, &[2], false), "mean(f64[2, 3]): axis 2 is out of range"),
        (var(&x, &[0, 0], false, 1.0), "var(f64[2, 3]): axis 0 is named twice"),
        (std(&x, &[], false, f64::NAN), "std(f64[2, 3]): NaN is not a correction"),
        (norm(&x, f64::NAN, &[], false), "no norm of order NaN"),
        (norm(&none, f64::INFINITY, &[], false), "no extreme of no elements"),
        (max(&none, &[], false), "max(f32[0]): there is no greatest of no elements"),
        (median(&none, &[], false), "median(f32[0]): there is no median of no elements"),
        (quantile(&x, 1.5, &[], false, QuantileRule::Linear), "1.5 is not a share"),
        (count_nonzero(&x, &[5], false), "count_nonzero(f64[2, 3]): axis 5"),
        (tril(&none, 0), "tril(f32[0]): f32[0] is not a matrix"),
        (one_hot(&x, Dim::size(3)), "classes are integers"),
        (arange(0.0, 1.0, 0.0, DType::F32), "no numbers from 0 to 1 in steps of 0"),
        (exponential(&none.ty(), -1.0), "-1 is not a mean waiting time"),
    ];
    for (outcome, text) in cases {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(text), "{error}\ndoes not contain {text}");
        assert!(error.contains("reductions.rs:"), "{error}\nhas no line");
    }
}
