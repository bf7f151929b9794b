//! Cells beside their formulas in `f64`.

use fluvial_tensor::{DType, Tensor};

use super::*;
use crate::simd::{Level, force};
use crate::testing::Rng;
use crate::threads::set_count;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The results and gradients of both cells, from gates and states as the kernels take them.
fn all(x: &[Tensor; 7]) -> Vec<Tensor> {
    let [gates, c, dh, dc, input, recurrent, h] = x;
    let (next_h, next_c) = lstm_cell(gates, c).unwrap();
    let (dgates, dlast) = lstm_cell_grad(dh, dc, gates, c).unwrap();
    let next = gru_cell(input, recurrent, h).unwrap();
    let (dinput, drecurrent, dstate) = gru_cell_grad(dh, input, recurrent, h).unwrap();
    vec![next_h, next_c, dgates, dlast, next, dinput, drecurrent, dstate]
}

fn draw(rng: &mut Rng, dtype: DType, rows: usize, hidden: usize) -> [Tensor; 7] {
    [4, 1, 1, 1, 3, 3, 1].map(|n| rng.tensor(dtype, &[rows, n * hidden]))
}

/// `dh h + dc c` of an LSTM, and `dh h` of a GRU, for one element.
fn totals([g, c, d, i, r, h]: [&[f64]; 6]) -> [f64; 2] {
    let next = sigmoid(g[1]) * c[0] + sigmoid(g[0]) * g[2].tanh();
    let lstm = d[0] * sigmoid(g[3]) * next.tanh() + d[1] * next;
    let new = (i[2] + sigmoid(i[0] + r[0]) * r[2]).tanh();
    let gru = d[0] * (new + sigmoid(i[1] + r[1]) * (h[0] - new));
    [lstm, gru]
}

#[test]
fn results_and_gradients_are_those_of_the_formulas() {
    let mut rng = Rng::new(31);
    for (rows, hidden) in [(1, 1), (3, 5), (2, 130), (5, 64)] {
        for dtype in [DType::F32, DType::F64] {
            let x = draw(&mut rng, dtype, rows, hidden);
            let found: Vec<Vec<f64>> = all(&x).iter().map(Tensor::to_f64s).collect();
            let x: Vec<Vec<f64>> = x.iter().map(Tensor::to_f64s).collect();
            let near =
                |a: f64, b: f64| (a - b).abs() < if dtype == DType::F32 { 2e-5 } else { 1e-5 };
            for row in 0..rows {
                for j in 0..hidden {
                    let gates = |x: &[f64], n: usize| -> Vec<f64> {
                        (0..n).map(|k| x[(row * n + k) * hidden + j]).collect()
                    };
                    let base = [
                        gates(&x[0], 4),
                        gates(&x[1], 1),
                        vec![gates(&x[2], 1)[0], gates(&x[3], 1)[0]],
                        gates(&x[4], 3),
                        gates(&x[5], 3),
                        gates(&x[6], 1),
                    ];
                    let total = |at: usize, k: usize, by: f64| {
                        let mut moved = base.clone();
                        moved[at][k] += by;
                        totals(std::array::from_fn(|i| moved[i].as_slice()))
                    };
                    let slope = |at: usize, k: usize, cell: usize| {
                        (total(at, k, 1e-6)[cell] - total(at, k, -1e-6)[cell]) / 2e-6
                    };
                    // With respect to the gradients, the totals' derivatives are the results.
                    assert!(near(gates(&found[0], 1)[0], slope(2, 0, 0)));
                    assert!(near(gates(&found[1], 1)[0], slope(2, 1, 0)));
                    assert!(near(gates(&found[4], 1)[0], slope(2, 0, 1)));
                    let pairs =
                        [(2, 0, 4, 0), (3, 1, 1, 0), (5, 3, 3, 1), (6, 4, 3, 1), (7, 5, 1, 1)];
                    for (result, at, n, cell) in pairs {
                        for (k, gradient) in gates(&found[result], n).into_iter().enumerate() {
                            let want = slope(at, k, cell);
                            assert!(near(gradient, want), "{gradient} for {want}, {result} {k}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_levels_or_layout() {
    let mut rng = Rng::new(32);
    let mut x = draw(&mut rng, DType::F32, 70, 201);
    // Some numbers that only the slow functions are for.
    let gates = x[0].as_mut_slice::<f32>().unwrap();
    (gates[5], gates[300], gates[1000]) = (f32::INFINITY, -95.0, f32::NEG_INFINITY);
    let want = all(&x);
    let scrambled = x.clone().map(|x| rng.scramble(&x));
    for level in Level::ALL {
        let _forced = force(level);
        for threads in [1, 2, 3, 8] {
            set_count(threads);
            assert!(all(&x).iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
            assert!(all(&scrambled).iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
        }
    }
}

#[test]
fn faults_and_nothing() {
    let x = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
    assert!(lstm_cell(&x(&[2, 8]), &x(&[2, 3])).is_err());
    assert!(lstm_cell(&x(&[2, 7]), &x(&[2, 1])).is_err());
    assert!(lstm_cell(&x(&[8]), &x(&[2])).is_err());
    assert!(gru_cell(&x(&[2, 6]), &x(&[1, 6]), &x(&[2, 2])).is_err());
    let whole = Tensor::zeros(DType::I64, &[1, 1]).unwrap();
    let gates = Tensor::zeros(DType::I64, &[1, 4]).unwrap();
    assert!(lstm_cell(&gates, &whole).is_err());
    assert_eq!(lstm_cell(&x(&[0, 8]), &x(&[0, 2])).unwrap().0.dims(), [0, 2]);
    assert_eq!(gru_cell(&x(&[3, 0]), &x(&[3, 0]), &x(&[3, 0])).unwrap().dims(), [3, 0]);
}
