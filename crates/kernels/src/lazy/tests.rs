//! Expressions beside the scalar machine, by bits.

use fluvial_tensor::{DType, Tensor};

use super::{Lazy, lazy};
use crate::lazy::Expression;
use crate::simd::{Level, force};
use crate::testing::Rng;
use crate::threads::set_count;
use crate::{Body, Reduce, S, reduce};

fn machine(body: &Body, inputs: &[&Tensor], dtype: DType, dims: &[usize]) -> Tensor {
    let mut out = Tensor::empty(dtype, dims).unwrap();
    body.run(inputs, &[], dtype, &mut out).unwrap();
    out
}

/// Whether both have the same bits, but for those of NaN.
#[track_caller]
fn same(found: &Tensor, want: &Tensor) {
    assert_eq!((found.dims(), found.dtype()), (want.dims(), want.dtype()));
    for (i, (a, b)) in found.to_f64s().into_iter().zip(want.to_f64s()).enumerate() {
        assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{a} for {b} at {i}");
    }
}

/// Numbers of all sizes, some of which only slow functions are for.
fn wild(rng: &mut Rng, dtype: DType, n: usize) -> Tensor {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, 3e38, -200.0];
    let values: Vec<f64> = (0..n)
        .map(|_| match rng.below(700) {
            k if k < special.len() => special[k],
            _ => rng.uniform(-4.0, 4.0),
        })
        .collect();
    Tensor::from_f64s(dtype, &values, &[n]).unwrap()
}

fn check<E: Expression>(x: &Tensor, y: &Tensor, expression: Lazy<E>, body: &Body) {
    let want = machine(body, &[x, y], x.dtype(), x.dims());
    for level in Level::ALL {
        let _forced = force(level);
        same(&expression.eval().unwrap(), &want);
    }
}

#[test]
fn functions_have_the_bits_of_the_scalar_machine() {
    let mut rng = Rng::new(41);
    for dtype in [DType::F32, DType::F64] {
        let (x, y) = (wild(&mut rng, dtype, 2500), wild(&mut rng, dtype, 2500));
        macro_rules! check_all {
            ($(|$x:ident, $y:ident| $e:expr;)*) => {$({
                let expression = { let ($x, $y) = (lazy(&x), lazy(&y)); $e };
                let body = Body::binary(|$x: S<'_>, $y: S<'_>| $e);
                check(&x, &y, expression, &body);
            })*};
        }
        check_all! {
            |x, y| (x * y + 1.0).tanh();
            |x, y| -x / y - 2.0 * x.abs().sqrt();
            |x, y| (x.exp() + y.sigmoid()).log();
            |x, y| x.gt(y).select(x.silu(), y.gelu());
            |x, y| x.abs().pow(y) + x.erf();
            |x, y| x.sin() * y.cos() - x.floor();
            |x, y| 1.0 / (x.exp2() + 1.0) + y.log1p();
        }
    }
}

#[test]
fn shapes_meet_and_layouts_do_not_matter() {
    let mut rng = Rng::new(42);
    for (a, b) in [
        (&[][..], &[][..]),
        (&[3, 1], &[4]),
        (&[300, 5], &[5]),
        (&[7, 1000], &[7, 1]),
        (&[2, 3, 700], &[3, 1]),
        (&[0, 3], &[1, 3]),
        (&[1], &[5, 1]),
    ] {
        let (x, y) = (rng.tensor(DType::F32, a), rng.tensor(DType::F64, b));
        let (x, y) = (rng.scramble(&x), rng.scramble(&y));
        let found = (lazy(&x) - lazy(&y) * lazy(&x)).eval().unwrap();
        let body = Body::binary(|x, y| x - y * x);
        same(&found, &machine(&body, &[&x, &y], DType::F64, found.dims()));
    }
    let (x, y) = (rng.tensor(DType::F32, &[3]), rng.tensor(DType::F32, &[2]));
    assert!((lazy(&x) + lazy(&y)).eval().is_err());
    let whole = rng.tensor(DType::I64, &[3]);
    assert!((lazy(&whole) + 1.0).eval().is_err());
    let found = (lazy(&whole) + 1.0).eval_in(DType::F32).unwrap();
    assert_eq!(found.to_f64s()[0], whole.to_f64s()[0] + 1.0);
    let mut out = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
    (lazy(&x) * 2.0).eval_into(&mut out).unwrap();
    assert_eq!(out.to_f64s()[3..], x.to_f64s().iter().map(|x| x * 2.0).collect::<Vec<_>>());
    assert!((lazy(&y) * 2.0).eval_into(&mut out).is_err());
}

#[test]
fn reductions_and_threads() {
    let mut rng = Rng::new(43);
    for n in [0, 1, 31, 1000, 100_003] {
        let (x, y) = (rng.tensor(DType::F32, &[n]), rng.tensor(DType::F32, &[n]));
        let distance = || (lazy(&x) - lazy(&y)) * (lazy(&x) - lazy(&y));
        let run = || {
            let chain = (lazy(&x) * lazy(&y) + 1.0).tanh().eval().unwrap();
            [distance().sum().unwrap(), distance().max().unwrap(), chain]
        };
        let want = run();
        for level in Level::ALL {
            let _forced = force(level);
            for threads in [1, 2, 3, 8] {
                set_count(threads);
                run().iter().zip(&want).for_each(|(a, b)| same(a, b));
            }
        }
        let all = distance().eval().unwrap();
        let sum: f64 = all.to_f64s().iter().sum();
        assert!((want[0].item::<f64>().unwrap() - sum).abs() <= 1e-6 * sum);
        if n > 0 {
            same(&want[1], &reduce(Reduce::Max, &all, &[0], DType::F32).unwrap());
        } else {
            assert_eq!(want[1].item::<f64>().unwrap(), f64::NEG_INFINITY);
        }
    }
    let nan = Tensor::from_slice(&[1.0f32, f32::NAN, 2.0], &[3]).unwrap();
    assert!(lazy(&nan).max().unwrap().item::<f64>().unwrap().is_nan());
}
