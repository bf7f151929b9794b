use super::*;
use crate::simd::{self, Level};
use crate::testing::Rng;
use crate::threads;

const SIZES: [usize; 4] = [1, 7, 33, PIECE + 5];

fn decay(factor: f64, decoupled: bool) -> WeightDecay {
    WeightDecay { factor, decoupled }
}

fn numbers(of: &[f64]) -> Vec<Tensor> {
    of.iter().map(|&x| Tensor::scalar(x)).collect()
}

fn all(tensors: &[Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(Tensor::to_f64s).collect()
}

#[test]
fn several_steps_are_those_of_the_formulas() {
    let mut rng = Rng::new(1);
    for (decoupled, nesterov, amsgrad) in [(false, false, false), (true, true, true)] {
        let mut draw = || SIZES.map(|n| rng.tensor(DType::F64, &[n]));
        let (params, grads) = (draw(), draw());
        let zeros = |k: usize| {
            let one = |i| Tensor::zeros(DType::F64, &[SIZES[i % 4]]).unwrap();
            (0..4 * k).map(one).collect::<Vec<_>>()
        };
        let mut by_adam = [params.to_vec(), zeros(if amsgrad { 3 } else { 2 })].concat();
        let mut by_momentum = [params.to_vec(), zeros(1)].concat();
        let mut by_sgd = params.to_vec();
        let g = all(&grads);
        let [mut a, mut b, mut c] = [(); 3].map(|()| all(&params));
        let [mut m, mut s, mut top, mut v] = [(); 4].map(|()| vec![0.0f64; g.len()]);
        let run = |numbers: &[Tensor], f: &mut dyn FnMut(&[&Tensor]) -> Result<()>| {
            f(&grads.iter().chain(numbers).collect::<Vec<_>>()).unwrap();
        };
        for step in 1..4 {
            let (c1, c2) = (1.0 - 0.9f64.powi(step), (1.0 - 0.99f64.powi(step)).sqrt());
            let decay = decay(0.2, decoupled);
            let adam_settings = Adam { betas: (0.9, 0.99), eps: 1e-3, amsgrad, decay };
            run(&numbers(&[0.1, c1, c2]), &mut |given| adam(&adam_settings, &mut by_adam, given));
            let settings = Momentum { momentum: 0.9, nesterov, decay };
            let part = if step == 1 { 1.0 } else { 0.7 };
            run(&numbers(&[0.1, part]), &mut |given| momentum(&settings, &mut by_momentum, given));
            run(&numbers(&[0.1]), &mut |given| sgd(decay, &mut by_sgd, given));
            for i in 0..g.len() {
                let decayed = |w: f64| match decoupled {
                    true => (w * (1.0 - 0.1 * 0.2), g[i]),
                    false => (w, g[i] + 0.2 * w),
                };
                let (w, grad) = decayed(a[i]);
                m[i] = 0.9 * m[i] + (1.0 - 0.9) * grad;
                s[i] = 0.99 * s[i] + (1.0 - 0.99) * grad * grad;
                top[i] = if amsgrad { s[i].max(top[i]) } else { s[i] };
                a[i] = w - 0.1 / c1 * (m[i] / (top[i].sqrt() / c2 + 1e-3));
                let (w, grad) = decayed(b[i]);
                v[i] = 0.9 * v[i] + part * grad;
                b[i] = w - 0.1 * if nesterov { grad + 0.9 * v[i] } else { v[i] };
                let (w, grad) = decayed(c[i]);
                c[i] = w - 0.1 * grad;
            }
        }
        for (found, want) in [(&by_adam, a), (&by_momentum, b), (&by_sgd, c)] {
            assert!(zip(all(&found[..4]), want).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_instructions_nor_on_the_place() {
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
        let mut rng = Rng::new(2);
        let mut draw = |n: usize| rng.tensor(dtype, &[n]);
        let start = [draw(100_003), draw(17), draw(100_003), draw(17)];
        let squares =
            [100_003, 17].map(|n| Tensor::full(&[n], 0.5f64).unwrap().cast(dtype).unwrap());
        let start = start.iter().chain(&squares).cloned().collect::<Vec<_>>();
        let numbers = [1e-3, 0.2, 0.3].map(|x| Tensor::scalar(x).cast(dtype).unwrap());
        let given: Vec<&Tensor> = start[..2].iter().chain(&numbers).collect();
        let settings =
            Adam { betas: (0.9, 0.99), eps: 1e-8, amsgrad: false, decay: decay(0.1, true) };
        let run = |in_place: bool| {
            let mut changed = match in_place {
                true => start.iter().map(|x| x.copy().unwrap()).collect(),
                false => start.clone(),
            };
            let places: Vec<_> = changed.iter().map(Tensor::data_ptr).collect();
            adam(&settings, &mut changed, &given).unwrap();
            assert!(zip(&changed, places).all(|(x, place)| (x.data_ptr() == place) == in_place));
            changed
        };
        let want = run(false);
        for level in Level::ALL {
            let _forced = simd::force(level);
            for n_threads in [1, 2, 3, 8] {
                threads::set_count(n_threads);
                for in_place in [false, true] {
                    assert!(zip(run(in_place), &want).all(|(a, b)| a.bitwise_eq(b)));
                }
            }
        }
    }
}

#[test]
fn what_others_see_stays_as_it_is() {
    let x = Tensor::full(&[3], 2.0f32).unwrap();
    let (grad, lr) = (Tensor::full(&[3], 4.0f32).unwrap(), Tensor::scalar(0.25f32));
    let mut changed = [x.clone(), x.copy().unwrap()];
    sgd(WeightDecay::default(), &mut changed, &[&grad, &grad, &lr]).unwrap();
    assert_eq!(all(&changed), [1.0; 6]);
    assert_eq!(x.to_f64s(), [2.0; 3]);
    let mut twice = [x.clone()];
    sgd(WeightDecay::default(), &mut twice, &[&x, &lr]).unwrap();
    assert_eq!(all(&twice), [1.5; 3]);
}

#[test]
fn faults() {
    let of = |dtype, n: usize| Tensor::zeros(dtype, &[n]).unwrap();
    let (lr, none) = (Tensor::scalar(0.1f32), WeightDecay::default());
    let run = |changed: &mut [Tensor], given: &[&Tensor]| sgd(none, changed, given);
    assert!(run(&mut [of(DType::F32, 3)], &[&of(DType::F32, 2), &lr]).is_err());
    assert!(run(&mut [of(DType::F32, 3)], &[&of(DType::F64, 3), &lr]).is_err());
    assert!(run(&mut [of(DType::F32, 3)], &[&lr]).is_err());
    assert!(run(&mut [of(DType::F32, 3)], &[]).is_err());
    assert!(run(&mut [], &[&lr]).is_ok());
    assert!(run(&mut [of(DType::I64, 3)], &[&of(DType::I64, 3), &Tensor::scalar(1i64)]).is_err());
    assert!(run(&mut [of(DType::F32, 0)], &[&of(DType::F32, 0), &lr]).is_ok());
}
