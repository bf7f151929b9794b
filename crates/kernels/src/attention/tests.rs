//! Attention beside the naive formulas.

use fluvial_tensor::{DType, Tensor};

use super::{Attention, attention, attention_grad};
use crate::reduce::sum_to;
use crate::simd::{self, Level};
use crate::testing::Rng;
use crate::threads;

/// The result, the logarithms, and the gradients of queries, keys and values.
type Five = [Tensor; 5];

fn numbers(rng: &mut Rng, dtype: DType, dims: &[usize]) -> Tensor {
    let count = dims.iter().product();
    let values: Vec<f64> = (0..count).map(|_| rng.uniform(-1.5, 1.5)).collect();
    Tensor::from_f64s(dtype, &values, dims).unwrap()
}

/// Heads repeated so that there are as many as queries have.
fn repeated(x: &Tensor, heads: usize) -> Tensor {
    let &[batch, shared, len, width] = x.dims() else { panic!("four axes") };
    let split = x.reshape(&[batch, shared, 1, len, width]).unwrap();
    let all = split.expand(&[batch, shared, heads / shared, len, width]).unwrap();
    all.reshape(&[batch, heads, len, width]).unwrap()
}

/// The formulas, for tensors of four axes.
fn naive(grad: &Tensor, [q, k, v]: [&Tensor; 3], options: &Attention<'_>) -> Five {
    let &[batch, heads, len, width] = q.dims() else { panic!("four axes") };
    let (keys, out) = (k.dims()[2], v.dims()[3]);
    let scale = options.scale.unwrap_or(1.0 / (width as f64).sqrt());
    let mask = options.mask.map(|mask| {
        let numbers = mask.expand(&[batch, heads, len, keys]).unwrap().to_f64s();
        let hides = mask.dtype() == DType::Bool;
        let number = |x: f64| if x == 0.0 { f64::NEG_INFINITY } else { 0.0 };
        numbers.into_iter().map(|x| if hides { number(x) } else { x }).collect::<Vec<f64>>()
    });
    let (wide_k, wide_v) = (repeated(k, heads).to_f64s(), repeated(v, heads).to_f64s());
    let (q64, g) = (q.to_f64s(), grad.to_f64s());
    let n = batch * heads;
    let (mut y, mut logs) = (vec![0.0; n * len * out], vec![0.0; n * len]);
    let (mut dq, mut dk, mut dv) =
        (vec![0.0; n * len * width], vec![0.0; n * keys * width], vec![0.0; n * keys * out]);
    for head in 0..n {
        for i in 0..len {
            let row = head * len + i;
            let q = &q64[row * width..(row + 1) * width];
            let scores: Vec<f64> = (0..keys)
                .map(|j| {
                    let key = (head * keys + j) * width;
                    let dot: f64 = q.iter().zip(&wide_k[key..]).map(|(a, b)| a * b).sum();
                    let hidden = options.causal && j > i;
                    let mask = mask.as_ref().map_or(0.0, |mask| mask[row * keys + j]);
                    if hidden { f64::NEG_INFINITY } else { dot * scale + mask }
                })
                .collect();
            let largest = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let base = if largest.is_finite() { largest } else { 0.0 };
            let total: f64 = scores.iter().map(|x| (x - base).exp()).sum();
            logs[row] = base + total.ln();
            let weight = |j: usize| match total == 0.0 {
                true => 0.0,
                false => (scores[j] - base).exp() / total,
            };
            let g = &g[row * out..(row + 1) * out];
            let value = |j: usize| &wide_v[(head * keys + j) * out..(head * keys + j + 1) * out];
            let dots: Vec<f64> =
                (0..keys).map(|j| g.iter().zip(value(j)).map(|(a, b)| a * b).sum()).collect();
            let mean: f64 = (0..keys).map(|j| weight(j) * dots[j]).sum();
            for j in 0..keys {
                let ds = weight(j) * (dots[j] - mean) * scale;
                for c in 0..width {
                    dq[row * width + c] += ds * wide_k[(head * keys + j) * width + c];
                    dk[(head * keys + j) * width + c] += ds * q[c];
                }
                for c in 0..out {
                    y[row * out + c] += weight(j) * value(j)[c];
                    dv[(head * keys + j) * out + c] += weight(j) * g[c];
                }
            }
        }
    }
    let shared = k.dims()[1];
    let gather = |dx: Vec<f64>, width: usize| {
        let split = [batch, shared, heads / shared, keys, width];
        let dx = Tensor::from_vec(dx, &split).unwrap();
        let dx = sum_to(&dx, &[batch, shared, 1, keys, width]).unwrap();
        dx.reshape(&[batch, shared, keys, width]).unwrap()
    };
    [
        Tensor::from_vec(y, &[batch, heads, len, out]).unwrap(),
        Tensor::from_vec(logs, &[batch, heads, len]).unwrap(),
        Tensor::from_vec(dq, q.dims()).unwrap(),
        gather(dk, width),
        gather(dv, out),
    ]
}

fn run(grad: &Tensor, [q, k, v]: [&Tensor; 3], options: &Attention<'_>) -> Five {
    let (y, logs) = attention(q, k, v, options).unwrap();
    let (dq, dk, dv) = attention_grad(grad, q, k, v, &y, &logs, options).unwrap();
    [y, logs, dq, dk, dv]
}

#[track_caller]
fn check(found: &Five, want: &Five, tolerance: f64, what: &str) {
    for (i, (found, want)) in found.iter().zip(want).enumerate() {
        assert_eq!(found.dims(), want.dims(), "{what}, {i}");
        let size =
            want.to_f64s().iter().filter(|x| x.is_finite()).fold(1.0, |a: f64, x| a.max(x.abs()));
        for (at, (a, b)) in found.to_f64s().into_iter().zip(want.to_f64s()).enumerate() {
            let same = a == b || (a - b).abs() <= tolerance * size;
            assert!(same, "{what}: {a} for {b} at {at} of {i}");
        }
    }
}

/// Batch, heads, heads of keys, queries, keys, width, width of values.
const SHAPES: [[usize; 7]; 16] = [
    [1, 1, 1, 1, 1, 1, 1],
    [2, 3, 3, 1, 40, 8, 5],
    [1, 2, 1, 5, 3, 1, 2],
    [2, 4, 2, 33, 31, 17, 33],
    [1, 6, 3, 40, 70, 16, 16],
    [1, 1, 1, 130, 300, 64, 64],
    [1, 2, 2, 64, 64, 64, 64],
    [1, 1, 1, 7, 500, 33, 1],
    [1, 2, 2, 257, 257, 20, 70],
    [1, 1, 1, 65, 13, 300, 4],
    [0, 2, 2, 5, 5, 4, 4],
    [1, 2, 2, 0, 5, 4, 4],
    [1, 2, 2, 5, 0, 4, 4],
    [1, 2, 2, 5, 6, 0, 4],
    [1, 2, 2, 5, 6, 4, 0],
    [1, 1, 1, 300, 600, 4, 4],
];

/// A mask of this kind: none, bools, floats, bools for each key only, floats for each head.
fn mask(rng: &mut Rng, kind: usize, [batch, heads, len, keys]: [usize; 4]) -> Option<Tensor> {
    let dims = match kind {
        0 => return None,
        1 => vec![len, keys],
        2 => vec![batch, 1, len, keys],
        3 => vec![batch, 1, 1, keys],
        _ => vec![heads, len, keys],
    };
    let count: usize = dims.iter().product();
    if kind.is_multiple_of(2) {
        let mut values: Vec<f64> = (0..count).map(|_| rng.uniform(-2.0, 2.0)).collect();
        values.iter_mut().for_each(|x| *x = if *x < -1.5 { f64::NEG_INFINITY } else { *x });
        return Some(Tensor::from_f64s(DType::F32, &values, &dims).unwrap());
    }
    let rows = count.checked_div(keys).unwrap_or(0);
    let values: Vec<bool> = (0..rows)
        .flat_map(|row| (0..keys).map(|_| row % 5 != 3 && rng.below(3) > 0).collect::<Vec<_>>())
        .collect();
    Some(Tensor::from_slice(&values, &dims).unwrap())
}

#[test]
fn all_shapes_and_masks() {
    let mut rng = Rng::new(5);
    for level in Level::ALL {
        let _forced = simd::force(level);
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let [batch, heads, shared, len, keys, width, out] = shape;
            for kind in 0..5 {
                // The portable level is slow, and the large shapes are the same code.
                if level < Level::Avx512 && (kind + number) % 3 != 0 {
                    continue;
                }
                for dtype in [DType::F32, DType::F64] {
                    let mut draw = |dims: &[usize]| numbers(&mut rng, dtype, dims);
                    let q = draw(&[batch, heads, len, width]);
                    let k = draw(&[batch, shared, keys, width]);
                    let v = draw(&[batch, shared, keys, out]);
                    let grad = draw(&[batch, heads, len, out]);
                    let mask = mask(&mut rng, kind, [batch, heads, len, keys]);
                    let causal = (number + kind) % 2 == 0;
                    let scale = (kind == 2 || width == 0).then_some(0.75);
                    let options = Attention { mask: mask.as_ref(), causal, scale };
                    let want = naive(&grad, [&q, &k, &v], &options);
                    let tolerance = if dtype == DType::F32 { 4e-6 } else { 1e-12 };
                    let what = format!("{shape:?} mask {kind} causal {causal} {dtype} {level:?}");
                    check(&run(&grad, [&q, &k, &v], &options), &want, tolerance, &what);
                    if number < 5 {
                        let other = [&q, &k, &v, &grad].map(|x| rng.scramble(x));
                        let scrambled = mask.as_ref().map(|mask| rng.scramble(mask));
                        let options = Attention { mask: scrambled.as_ref(), ..options };
                        let found = run(&other[3], [&other[0], &other[1], &other[2]], &options);
                        check(&found, &want, tolerance, &format!("scrambled {what}"));
                    }
                }
            }
        }
    }
}

#[test]
fn half_floats_and_batches_that_broadcast() {
    let mut rng = Rng::new(6);
    let [q, k, v] = [[2, 3, 9, 8], [2, 3, 20, 8], [2, 3, 20, 4]]
        .map(|dims| numbers(&mut rng, DType::F16, &dims));
    let grad = numbers(&mut rng, DType::F16, &[2, 3, 9, 4]);
    let options = Attention::default();
    let found = run(&grad, [&q, &k, &v], &options);
    assert_eq!(
        (found[0].dtype(), found[1].dtype(), found[3].dtype()),
        (DType::F16, DType::F32, DType::F16)
    );
    check(&found, &naive(&grad, [&q, &k, &v], &options), 2e-3, "half");

    // Queries without a batch, keys with one, and the other way round.
    let [q, k, v] = [&[9, 8][..], &[2, 1, 20, 8], &[2, 1, 20, 4]]
        .map(|dims| numbers(&mut rng, DType::F64, dims));
    let grad = numbers(&mut rng, DType::F64, &[2, 1, 9, 4]);
    let wide_q = q.expand(&[2, 1, 9, 8]).unwrap();
    let mut want = naive(&grad, [&wide_q, &k, &v], &options);
    want[2] = sum_to(&want[2], &[9, 8]).unwrap();
    check(&run(&grad, [&q, &k, &v], &options), &want, 1e-12, "one matrix of queries");

    let [q, k, v] =
        [&[2, 3, 9, 8][..], &[20, 8], &[20, 4]].map(|dims| numbers(&mut rng, DType::F64, dims));
    let grad = numbers(&mut rng, DType::F64, &[2, 3, 9, 4]);
    let wide = [&k, &v].map(|x| x.expand(&[2, 1, 20, x.dims()[1]]).unwrap());
    let mut want = naive(&grad, [&q, &wide[0], &wide[1]], &options);
    want[3] = sum_to(&want[3], k.dims()).unwrap();
    want[4] = sum_to(&want[4], v.dims()).unwrap();
    check(&run(&grad, [&q, &k, &v], &options), &want, 1e-12, "one matrix of keys");
}

#[test]
fn bits_do_not_depend_on_threads() {
    let mut rng = Rng::new(7);
    let _forced = simd::force(Level::Avx512);
    for (heads, len, keys) in [(7, 200, 300), (1, 130, 1100)] {
        let mut draw = |dims: &[usize]| numbers(&mut rng, DType::F32, dims);
        let (q, k, v) =
            (draw(&[1, heads, len, 24]), draw(&[1, heads, keys, 24]), draw(&[1, heads, keys, 40]));
        let grad = draw(&[1, heads, len, 40]);
        for causal in [false, true] {
            let options = Attention { causal, ..Attention::default() };
            threads::set_count(1);
            let want = run(&grad, [&q, &k, &v], &options);
            for count in [2, 3, 8] {
                threads::set_count(count);
                let found = run(&grad, [&q, &k, &v], &options);
                assert!(found.iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
            }
            check(&want, &naive(&grad, [&q, &k, &v], &options), 4e-6, "threads");
        }
    }
}

#[test]
fn not_a_number_stays_and_hidden_keys_do_not_count() {
    let nan = Tensor::from_slice(&[f32::NAN, 1.0, 2.0], &[3, 1]).unwrap();
    let ones = Tensor::full(&[3, 1], 1.0f32).unwrap();
    let plain = attention(&ones, &nan, &ones, &Attention::default()).unwrap().0;
    assert!(plain.to_f64s().iter().all(|x| x.is_nan()));
    let mask = Tensor::from_slice(&[false, true, true], &[3]).unwrap();
    let options = Attention { mask: Some(&mask), ..Attention::default() };
    let (y, logs) = attention(&ones, &nan, &ones, &options).unwrap();
    assert!(y.to_f64s().iter().all(|&x| (x - 1.0).abs() < 1e-6));
    assert!(logs.to_f64s().iter().all(|x| x.is_finite()));
}

#[test]
fn faults() {
    let x = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
    let options = Attention::default();
    for (q, k, v) in [
        (&[2, 3][..], &[2, 4][..], &[2, 3][..]),
        (&[2, 3], &[2, 3], &[3, 3]),
        (&[3], &[2, 3], &[2, 3]),
        (&[2, 3], &[3], &[3]),
        (&[3, 2, 3], &[2, 2, 3], &[2, 2, 3]),
        (&[2, 4, 2, 3], &[3, 4, 2, 3], &[3, 4, 2, 3]),
    ] {
        assert!(attention(&x(q), &x(k), &x(v), &options).is_err(), "{q:?} {k:?} {v:?}");
    }
    let whole = Tensor::zeros(DType::I64, &[2, 3]).unwrap();
    assert!(attention(&whole, &whole, &whole, &options).is_err());
    assert!(attention(&x(&[2, 3]), &whole, &whole, &options).is_err());
    let masked = Attention { mask: Some(&whole), ..options };
    assert!(attention(&x(&[2, 3]), &x(&[3, 3]), &x(&[3, 3]), &masked).is_err());
    let q = x(&[2, 3]);
    let (y, logs) = attention(&q, &q, &q, &options).unwrap();
    assert!(attention_grad(&x(&[3, 3]), &q, &q, &q, &y, &logs, &options).is_err());
    assert!(attention_grad(&y, &q, &q, &q, &y, &y, &options).is_err());
}
