use super::*;
use crate::testing::Rng;

fn windows(list: &[(usize, usize, usize)]) -> Vec<Window> {
    list.iter().map(|&(start, len, step)| Window { start, len, step, divisor: len }).collect()
}

#[test]
fn greatest_with_their_places() {
    let x = Tensor::from_slice(&[1.0f32, f32::NAN, 3.0, 3.0, 5.0, 4.0], &[1, 6]).unwrap();
    let (values, places) =
        max_pool(&x, &[windows(&[(0, 1, 1), (0, 3, 1), (2, 2, 1), (3, 2, 2), (0, 0, 1)])]).unwrap();
    assert_eq!(places.to_vec::<i64>().unwrap(), [0, 1, 2, 5, -1]);
    let values = values.to_f64s();
    assert!(values[1].is_nan() && values[4] == f64::NEG_INFINITY);
    assert_eq!((values[0], values[2], values[3]), (1.0, 3.0, 4.0));
    let bytes = Tensor::from_slice(&[0u8, 7, 200, 3], &[2, 2]).unwrap();
    let both = windows(&[(0, 2, 1)]);
    let (values, places) = max_pool(&bytes, &[both.clone(), both]).unwrap();
    assert_eq!((values.item::<u8>().unwrap(), places.item::<i64>().unwrap()), (200, 2));
}

#[test]
fn special_numbers_at_every_level() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    // Ties go to the first; the last not a number wins; nothing is below all.
    let x = [-inf, -inf, 2.0, nan, nan, 1.0, 0.0, -0.0, inf, inf, 3.0, 3.0, -inf, 5.0, nan, -inf];
    let x = Tensor::from_slice(&x.repeat(3), &[1, 48]).unwrap();
    for (stride, k) in [(2, 2), (1, 2), (2, 3), (3, 4), (16, 16)] {
        let axis: Vec<_> = (0..=(48 - k) / stride).map(|i| (i * stride, k, 1)).collect();
        let axes = [windows(&axis)];
        let all = crate::simd::Level::ALL.map(|level| {
            let _forced = crate::simd::force(level);
            let (values, places) = max_pool(&x, &axes).unwrap();
            let bits: Vec<bool> = values.to_f64s().iter().map(|x| x.is_nan()).collect();
            (values.to_f64s(), bits, places.to_vec::<i64>().unwrap())
        });
        for (values, are_nan, places) in &all {
            assert_eq!((are_nan, places), (&all[0].1, &all[0].2));
            let same = values.iter().zip(&all[0].0).all(|(a, b)| a == b || a.is_nan());
            assert!(same, "{stride} {k}: {values:?}");
        }
        if (stride, k) == (2, 2) {
            assert_eq!(all[0].2[..8], [0, 3, 4, 6, 8, 10, 13, 14]);
        }
    }
}

#[test]
fn pooling_and_spreading_are_adjoint() {
    let mut rng = Rng::new(41);
    let axes = [windows(&[(0, 2, 1), (1, 2, 1)]), windows(&[(0, 1, 1), (1, 4, 1), (3, 2, 1)])];
    let dot = |a: &Tensor, b: &Tensor| -> f64 {
        a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
    };
    let (x, y) = (rng.tensor(DType::F64, &[2, 3, 5]), rng.tensor(DType::F64, &[2, 2, 3]));
    let means = avg_pool(&rng.scramble(&x), &axes).unwrap();
    let spread = avg_pool_spread(&rng.scramble(&y), &axes, &[3, 5]).unwrap();
    assert!((dot(&means, &y) - dot(&x, &spread)).abs() < 1e-9);
    let (values, places) = max_pool(&rng.scramble(&x), &axes).unwrap();
    assert!(pool_pick(&rng.scramble(&x), &places, 2).unwrap().bitwise_eq(&values));
    let scattered = pool_scatter(&y, &places, &[3, 5]).unwrap();
    assert_eq!(dot(&values, &y), dot(&x, &scattered));
}

#[test]
fn faults() {
    let x = Tensor::zeros(DType::F32, &[1, 4]).unwrap();
    assert!(max_pool(&x, &[windows(&[(3, 2, 1)])]).is_err());
    let places = Tensor::from_slice(&[4i64], &[1, 1]).unwrap();
    let error = pool_pick(&x, &places, 1).unwrap_err();
    assert_eq!(error.message(), "place 4 is out of range for 4 elements");
    assert!(pool_scatter(&places, &x, &[4]).is_err());
}

/// The same by definition, one window at a time.
fn naive(plane: &[f32], [h, w]: [usize; 2], windows: &[Vec<Window>]) -> Vec<(f32, i64, f32)> {
    assert_eq!(plane.len(), h * w);
    let mut found = Vec::new();
    for rows in &windows[0] {
        for columns in &windows[1] {
            let (mut best, mut place, mut sum) = (f32::NEG_INFINITY, -1, 0.0);
            for y in rows.positions() {
                for x in columns.positions() {
                    let value = plane[y * w + x];
                    if place < 0 || value > best {
                        (best, place) = (value, (y * w + x) as i64);
                    }
                    sum += value;
                }
            }
            let share = 1.0 / (rows.divisor.max(1) as f64 * columns.divisor.max(1) as f64);
            found.push((best, place, sum * share as f32));
        }
    }
    found
}

#[test]
fn windows_of_all_kinds_on_any_number_of_threads_and_all_levels() {
    let mut rng = Rng::new(52);
    let axis = |size: usize, k: usize, stride: usize, pad: usize, step: usize| {
        let reach = (k - 1) * step + 1;
        let count = (size + 2 * pad).saturating_sub(reach) / stride + 1;
        let window = |i: usize| {
            let taps = (0..k).map(|tap| (i * stride + tap * step) as isize - pad as isize);
            let inside: Vec<usize> =
                taps.filter(|at| (0..size as isize).contains(at)).map(|at| at as usize).collect();
            let start = inside.first().copied().unwrap_or_default();
            Window { start, len: inside.len(), step, divisor: k }
        };
        (0..count).map(window).collect::<Vec<_>>()
    };
    for (size, k, stride, pad, step) in
        [(9, 3, 2, 1, 1), (16, 2, 2, 0, 1), (33, 3, 1, 1, 1), (20, 3, 3, 1, 2), (5, 5, 4, 2, 1)]
    {
        let windows = [axis(size, k, stride, pad, step), axis(size + 3, k, stride, pad, step)];
        let dims = [3, 50, size, size + 3];
        let x = rng.tensor(DType::F32, &dims);
        let (plane, all) = (size * (size + 3), x.to_vec::<f32>().unwrap());
        let want: Vec<_> =
            all.chunks(plane).flat_map(|p| naive(p, [size, size + 3], &windows)).collect();
        let mut spread: Option<Tensor> = None;
        for level in crate::simd::Level::ALL {
            let _forced = crate::simd::force(level);
            for threads in [1, 2, 3, 8] {
                crate::threads::set_count(threads);
                let (values, places) = max_pool(&rng.scramble(&x), &windows).unwrap();
                let means = avg_pool(&x, &windows).unwrap();
                let (v, p, m) = (values.to_vec::<f32>(), places.to_vec::<i64>(), means.to_vec());
                let found = v.unwrap().into_iter().zip(p.unwrap()).zip(m.unwrap());
                assert!(found.zip(&want).all(|(((v, p), m), want)| (v, p, m) == *want));
                let back = avg_pool_spread(&means, &windows, &dims[2..]).unwrap();
                let picked = pool_pick(&x, &places, 2).unwrap();
                assert!(picked.bitwise_eq(&values));
                let sums = pool_scatter(&values, &places, &dims[2..]).unwrap();
                let total = |x: &Tensor| x.to_f64s().iter().sum::<f64>();
                assert!((total(&sums) - total(&values)).abs() < 1e-3);
                assert!(spread.get_or_insert(back.clone()).bitwise_eq(&back));
            }
        }
    }
}
