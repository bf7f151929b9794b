use super::*;

/// Four random words for a counter under a key.
fn philox(key: [u32; 2], ctr: [u32; 4]) -> [u32; 4] {
    let ([mut k0, mut k1], [mut c0, mut c1, mut c2, mut c3]) = (key, ctr);
    for _ in 0..10 {
        let even = u64::from(MULTIPLIERS[0]) * u64::from(c0);
        let odd = u64::from(MULTIPLIERS[1]) * u64::from(c2);
        c0 = (odd >> 32) as u32 ^ c1 ^ k0;
        c2 = (even >> 32) as u32 ^ c3 ^ k1;
        c1 = odd as u32;
        c3 = even as u32;
        k0 = k0.wrapping_add(KEY_STEPS[0]);
        k1 = k1.wrapping_add(KEY_STEPS[1]);
    }
    [c0, c1, c2, c3]
}

/// The first `n` random words of a stream.
fn random_bits(seed: u64, stream: u64, n: usize) -> Vec<u32> {
    let mut bits = vec![0; n];
    fill_words(&mut bits, seed, stream, |word| word);
    bits
}

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

#[test]
fn known_answers() {
    // The vectors of "philox4x32 10" that come with Random123.
    for (key, ctr, want) in [
        ([0; 2], [0; 4], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([u32::MAX; 2], [u32::MAX; 4], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0xa4093822, 0x299f31d0],
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ] {
        assert_eq!(philox(key, ctr), want);
    }
    let bits = random_bits(0x299f31d0a4093822, 0x0370734413198a2e, 5);
    let key = [0xa4093822, 0x299f31d0];
    assert_eq!(bits[..4], philox(key, [0, 0, 0x13198a2e, 0x03707344]));
    assert_eq!(bits[4], philox(key, [1, 0, 0x13198a2e, 0x03707344])[0]);
    for n in [TASK - 1, TASK + 5, 3 * TASK + 70] {
        let bits = random_bits(5, 6 << 32 | 7, n);
        for (i, &word) in bits.iter().enumerate() {
            assert_eq!(word, philox([5, 0], [(i / 4) as u32, 0, 7, 6])[i % 4]);
        }
    }
}

#[test]
fn an_element_depends_on_its_number_only() {
    let draw = |dims: &[usize]| -> Vec<Vec<f64>> {
        let mut all = vec![
            bernoulli(1, 2, dims, 0.5).unwrap().to_f64s(),
            randint(1, 2, DType::I64, dims, 0, 1000).unwrap().to_f64s(),
        ];
        for dtype in FLOATS {
            all.push(uniform(1, 2, dtype, dims, 0.0, 1.0).unwrap().to_f64s());
            all.push(normal(1, 2, dtype, dims, 0.0, 1.0).unwrap().to_f64s());
        }
        all
    };
    let long = draw(&[5, 7]);
    for dims in [&[][..], &[1], &[3], &[6], &[2, 3], &[0], &[5, 7]] {
        for (short, long) in draw(dims).into_iter().zip(&long) {
            assert_eq!(short, long[..short.len()]);
        }
    }
    let other = uniform(1, 3, DType::F64, &[35], 0.0, 1.0).unwrap().to_f64s();
    assert_ne!(other, uniform(1, 2, DType::F64, &[35], 0.0, 1.0).unwrap().to_f64s());
    assert_ne!(other, uniform(2, 3, DType::F64, &[35], 0.0, 1.0).unwrap().to_f64s());
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n)
}

#[test]
fn uniform_numbers() {
    for dtype in FLOATS {
        let values = uniform(7, 0, dtype, &[100_000], -1.0, 3.0).unwrap().to_f64s();
        assert!(values.iter().all(|value| (-1.0..3.0).contains(value)));
        let (mean, variance) = moments(&values);
        assert!(
            (mean - 1.0).abs() < 0.02 && (variance - 16.0 / 12.0).abs() < 0.02,
            "{dtype}: {mean} {variance}"
        );
    }
    let narrow = uniform(7, 0, DType::F32, &[1000], 1.0, 1.0f64.next_up()).unwrap();
    assert!(narrow.to_f64s().iter().all(|&value| value == 1.0));
    let point = uniform(7, 0, DType::F32, &[3], 2.0, 2.0).unwrap();
    assert_eq!(point.to_f64s(), [2.0; 3]);
    for (lo, hi) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)] {
        assert!(uniform(7, 0, DType::F32, &[1], lo, hi).is_err());
    }
    assert!(uniform(7, 0, DType::I32, &[1], 0.0, 1.0).is_err());
}

#[test]
fn normal_numbers() {
    for dtype in FLOATS {
        let values = normal(8, 0, dtype, &[100_001], 2.0, 3.0).unwrap().to_f64s();
        assert!(values.iter().all(|value| value.is_finite()));
        let (mean, variance) = moments(&values);
        assert!(
            (mean - 2.0).abs() < 0.05 && (variance - 9.0).abs() < 0.15,
            "{dtype}: {mean} {variance}"
        );
        let within = values.iter().filter(|&&value| (value - 2.0).abs() < 3.0).count();
        assert!((within as f64 / values.len() as f64 - 0.6827).abs() < 0.01);
        let neighbours: f64 = values.windows(2).map(|w| (w[0] - 2.0) * (w[1] - 2.0)).sum();
        assert!((neighbours / values.len() as f64).abs() < 0.15);
    }
    assert!(normal(8, 0, DType::F32, &[1], 0.0, -1.0).is_err());
    assert!(normal(8, 0, DType::F32, &[1], f64::NAN, 1.0).is_err());
    assert!(normal(8, 0, DType::Bool, &[1], 0.0, 1.0).is_err());
    let mut words = [u32::MAX; AT_ONCE];
    words[1] = 0;
    for value in normal_pairs(words, [3; AT_ONCE]).as_flattened() {
        assert!(value.abs() < 7.0);
    }
    assert!(box_muller(1.0 - unit64(u64::MAX), 0.0)[0].is_finite());
}

#[test]
fn narrow_normal_numbers_are_those_of_the_wide_formula_at_every_level() {
    let want = normal(3, 4, DType::F32, &[TASK + 77], 0.5, 2.0).unwrap();
    for level in crate::simd::Level::ALL {
        let _forced = crate::simd::force(level);
        for threads in [1, 2, 3, 8] {
            threads::set_count(threads);
            let found = normal(3, 4, DType::F32, &[TASK + 77], 0.5, 2.0).unwrap();
            assert!(found.bitwise_eq(&want));
        }
    }
    let bits = random_bits(3, 4, TASK + 77);
    for (words, found) in bits.chunks_exact(2).zip(want.to_f64s().chunks_exact(2)) {
        let [a, b] = [words[0], words[1]].map(|word| f64::from(word) / 2f64.powi(32));
        for (want, found) in box_muller(a + 2f64.powi(-33), b).into_iter().zip(found) {
            let off = (found - (0.5 + 2.0 * want)).abs();
            // Near 1 a fraction has fewer digits as `f32`, so small radii do.
            assert!(off < 2e-6 + 4e-7 / (1.0 - a).sqrt(), "{found} for {}", 0.5 + 2.0 * want);
        }
    }
}

#[test]
fn quantiles_invert_the_distribution() {
    // From scipy.stats.
    for (p, want) in [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054_2),
        (1e-3, -3.090_232_306_167_813_5),
        (1e-10, -6.361_340_902_404_056),
        (1e-30, -11.464_024_688_443_613),
    ] {
        assert!((quantile(p) - want).abs() <= 1e-14 * want.abs(), "{p}: {}", quantile(p));
    }
    assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    for i in 1..200 {
        let p = f64::from(i) / 200.0;
        assert!((tail(quantile(p)) - p).abs() < 2e-15, "{p}");
    }
}

#[test]
fn truncated_numbers() {
    let infinite = f64::INFINITY;
    for ([lo, hi], want_mean, want_variance) in [
        // Mean and variance of the standard normal distribution, cut at these ends.
        ([-2.0, 2.0], 0.0, 0.773_741_303_549_923),
        ([0.0, infinite], 0.797_884_560_802_865_4, 0.363_380_227_632_418_6),
        ([5.0, 6.0], 5.183_147_090_477_182, 0.029_452_430_768_436_8),
        ([-9.0, -8.0], -8.121_188_992_979_867, 0.014_148_542_782_169_6),
    ] {
        let draw = |mean: f64, std: f64| {
            let ends = [mean + std * lo, mean + std * hi];
            truncated_normal(11, 0, DType::F64, &[100_000], [mean, std], ends).unwrap()
        };
        let values = draw(0.0, 1.0).to_f64s();
        assert!(values.iter().all(|value| (lo..=hi).contains(value)));
        let (mean, variance) = moments(&values);
        assert!((mean - want_mean).abs() < 0.01, "{lo} {hi}: {mean}");
        assert!((variance / want_variance - 1.0).abs() < 0.03, "{lo} {hi}: {variance}");
        let scaled = moments(&draw(3.0, 0.5).to_f64s()).0;
        assert!((scaled - (3.0 + 0.5 * mean)).abs() < 1e-9);
    }
    for dtype in FLOATS {
        let values = truncated_normal(1, 2, dtype, &[1000], [0.0, 1.0], [-0.1, 0.1]).unwrap();
        assert!(values.to_f64s().iter().all(|value| value.abs() <= 0.101));
    }
    let refused = |moments, ends| truncated_normal(1, 2, DType::F32, &[1], moments, ends).is_err();
    assert!(refused([0.0, 0.0], [-1.0, 1.0]) && refused([0.0, 1.0], [1.0, 1.0]));
    assert!(refused([f64::NAN, 1.0], [0.0, 1.0]) && refused([0.0, 1.0], [f64::NAN, 1.0]));
}

#[test]
fn coins() {
    let share = |p: f64| moments(&bernoulli(9, 0, &[100_000], p).unwrap().to_f64s()).0;
    assert_eq!((share(0.0), share(1.0)), (0.0, 1.0));
    assert!((share(0.3) - 0.3).abs() < 0.01);
    assert!(bernoulli(9, 0, &[1], 1.5).is_err() && bernoulli(9, 0, &[1], f64::NAN).is_err());
}

#[test]
fn integers() {
    for dtype in [DType::U8, DType::I8, DType::I32, DType::I64] {
        let lo = if dtype.is_signed() { -3 } else { 0 };
        let values = randint(10, 0, dtype, &[10_000], lo, 5).unwrap().to_vec_i64();
        for wanted in lo..5 {
            let count = values.iter().filter(|&&value| value == wanted).count() as f64;
            let expected = 10_000.0 / (5 - lo) as f64;
            assert!((count - expected).abs() < 0.15 * expected, "{dtype} {wanted} {count}");
        }
        assert!(values.iter().all(|value| (lo..5).contains(value)));
    }
    let all = randint(10, 0, DType::I64, &[1000], i64::MIN, i64::MAX).unwrap().to_vec_i64();
    assert!(
        all.iter().any(|&value| value < i64::MIN / 2)
            && all.iter().any(|&value| value > i64::MAX / 2)
    );
    assert!(randint(10, 0, DType::I64, &[1], 5, 5).is_err());
    assert!(randint(10, 0, DType::U8, &[1], -1, 5).is_err());
    assert!(randint(10, 0, DType::U8, &[1], 0, 257).is_err());
    assert!(randint(10, 0, DType::U8, &[1], 0, 256).is_ok());
    assert!(randint(10, 0, DType::F32, &[1], 0, 5).is_err());
}

trait Integers {
    fn to_vec_i64(&self) -> Vec<i64>;
}

impl Integers for Tensor {
    fn to_vec_i64(&self) -> Vec<i64> {
        self.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
    }
}
