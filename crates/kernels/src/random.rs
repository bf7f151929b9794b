//! Random numbers that are a function of their position.
//!
//! The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
//! 3", 2011): a keyed scrambling of a 128-bit counter. The key is the seed; the upper half of the counter
//! is the stream, and the lower half numbers the blocks of four words within it. So element `i` depends on
//! seed, stream and `i` only (and on the dtype), whatever the shape and the order of computation.

use std::f64::consts::{SQRT_2, TAU};

use fluvial_tensor::{DType, Element, Error, Result, Tensor, dispatch};

use crate::lanes::Parts;
use crate::scalar::special::erfc;
use crate::simd::vectorized;
use crate::threads;

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Four random words for a counter under a key.
pub fn philox(key: [u32; 2], ctr: [u32; 4]) -> [u32; 4] {
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
pub fn random_bits(seed: u64, stream: u64, n: usize) -> Result<Vec<u32>> {
    let mut bits = Vec::new();
    bits.try_reserve_exact(n)
        .map_err(|_| Error::memory(format!("cannot allocate {n} random words")))?;
    bits.resize(n, 0);
    fill_words(&mut bits, seed, stream, |word| word);
    Ok(bits)
}

/// Floats spread evenly over `lo <= x < hi` (all `lo`, if the two are equal).
pub fn uniform(
    seed: u64,
    counter: u64,
    dtype: DType,
    dims: &[usize],
    lo: f64,
    hi: f64,
) -> Result<Tensor> {
    check_float(dtype)?;
    let width = hi - lo;
    if !(lo <= hi && width.is_finite()) {
        return Err(Error::argument(format!("no uniform numbers between {lo} and {hi}")));
    }
    let mut out = Tensor::empty(dtype, dims)?;
    dispatch!(dtype, T => {
        // What is rounded up to `hi` by the narrow type must not stay there.
        let place = |unit: f64| {
            let value = T::from_f64(lo + unit * width);
            if value.to_f64() < hi { value } else { T::from_f64(lo) }
        };
        let out = out.as_mut_slice::<T>()?;
        match dtype {
            DType::F64 => fill(out, seed, counter, |words| long_words(words).map(|w| place(unit64(w)))),
            DType::F32 => fill_words(out, seed, counter, |w| place(unit32(w, 24))),
            DType::F16 => fill_words(out, seed, counter, |w| place(unit32(w, 11))),
            _ => fill_words(out, seed, counter, |w| place(unit32(w, 8))),
        }
    });
    Ok(out)
}

/// Normally distributed floats, by the method of Box and Muller.
pub fn normal(
    seed: u64,
    counter: u64,
    dtype: DType,
    dims: &[usize],
    mean: f64,
    std: f64,
) -> Result<Tensor> {
    check_float(dtype)?;
    if !(mean.is_finite() && std.is_finite() && std >= 0.0) {
        return Err(Error::argument(format!(
            "no normal distribution has mean {mean} and standard deviation {std}"
        )));
    }
    let mut out = Tensor::empty(dtype, dims)?;
    dispatch!(dtype, T => {
        let place = |value: f64| T::from_f64(mean + std * value);
        let out = out.as_mut_slice::<T>()?;
        if dtype == DType::F64 {
            fill(out, seed, counter, |words| {
                let [a, b] = long_words(words).map(unit64);
                box_muller(1.0 - a, b).map(place)
            });
        } else {
            fill(out, seed, counter, |words| {
                let [a, b, c, d] = words.map(|word| unit32(word, 32));
                let ([w, x], [y, z]) = (box_muller(1.0 - a, b), box_muller(1.0 - c, d));
                [w, x, y, z].map(place)
            });
        }
    });
    Ok(out)
}

/// Normally distributed floats of which only those from `lo` to `hi` are kept, by the inverse of the
/// distribution function.
pub fn truncated_normal(
    seed: u64,
    counter: u64,
    dtype: DType,
    dims: &[usize],
    [mean, std]: [f64; 2],
    [lo, hi]: [f64; 2],
) -> Result<Tensor> {
    check_float(dtype)?;
    if !(mean.is_finite() && std.is_finite() && std > 0.0 && lo < hi) {
        return Err(Error::argument(format!(
            "no normal distribution has mean {mean}, standard deviation {std} and ends {lo}, {hi}"
        )));
    }
    let (a, b) = ((lo - mean) / std, (hi - mean) / std);
    // Beyond the middle the distribution function loses its digits, so the lower tail is used.
    let (sign, [a, b]) = if a > 0.0 { (-1.0, [-b, -a]) } else { (1.0, [a, b]) };
    let (below, width) = (tail(a), tail(b) - tail(a));
    let mut out = Tensor::empty(dtype, dims)?;
    dispatch!(dtype, T => {
        // Rounding must not lead out of the range; its ends are rounded, too.
        let place = |unit: f64| {
            let value = quantile(below + unit * width).clamp(a, b);
            T::from_f64((mean + std * sign * value).clamp(lo, hi))
        };
        fill(out.as_mut_slice::<T>()?, seed, counter, |words| {
            long_words(words).map(|word| place(unit64(word)))
        });
    });
    Ok(out)
}

/// The probability that a normal number lies below `x`.
fn tail(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// The number below which a normal one lies with probability `p`: Wichura's rational functions ("The
/// percentage points of the normal distribution", 1988), correct to about 1e-16.
fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRAL.0, r) / polynomial(&CENTRAL.1, r);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let size = match r <= 5.0 {
        true => polynomial(&TAIL.0, r - 1.6) / polynomial(&TAIL.1, r - 1.6),
        false if r.is_infinite() => r,
        false => polynomial(&FAR_TAIL.0, r - 5.0) / polynomial(&FAR_TAIL.1, r - 5.0),
    };
    size.copysign(q)
}

/// The polynomial with these coefficients, the constant one first.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// Coefficients of a numerator and a denominator.
type Rational = ([f64; 8], [f64; 8]);

const CENTRAL: Rational = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);

const TAIL: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const FAR_TAIL: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

/// A bool tensor, true with probability `p` (to the nearest multiple of 2^-32).
pub fn bernoulli(seed: u64, counter: u64, dims: &[usize], p: f64) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::argument(format!("{p} is not a probability")));
    }
    let threshold = (p * 2f64.powi(32)).round() as u64;
    let mut out = Tensor::empty(DType::Bool, dims)?;
    fill_words(out.as_mut_slice()?, seed, counter, |word| u64::from(word) < threshold);
    Ok(out)
}

/// Integers spread evenly over `lo <= x < hi`.
pub fn randint(
    seed: u64,
    counter: u64,
    dtype: DType,
    dims: &[usize],
    lo: i64,
    hi: i64,
) -> Result<Tensor> {
    if !dtype.is_int() {
        return Err(Error::dtype(format!("random integers of dtype {dtype}")));
    }
    if lo >= hi {
        return Err(Error::argument(format!("no integers from {lo} up to and without {hi}")));
    }
    let width = hi.wrapping_sub(lo) as u64;
    let mut out = Tensor::empty(dtype, dims)?;
    dispatch!(dtype, T => {
        if let Some(end) = [lo, hi - 1].into_iter().find(|&end| T::from_i64(end).to_i64() != end) {
            return Err(Error::argument(format!("{dtype} cannot hold {end}")));
        }
        fill(out.as_mut_slice::<T>()?, seed, counter, |words| {
            long_words(words).map(|word| {
                let offset = (u128::from(word) * u128::from(width)) >> 64;
                T::from_i64(lo.wrapping_add(offset as i64))
            })
        });
    });
    Ok(out)
}

/// Blocks of the stream that are computed at once.
const AT_ONCE: usize = 16;

/// Elements that one task makes: a multiple of what is computed at once.
const TASK: usize = 1 << 14;

/// The words of [`AT_ONCE`] neighbouring blocks, the same as [`philox`] gives one by one.
#[inline(always)]
fn philox_many(key: [u32; 2], first_block: u64, stream: [u32; 2]) -> [[u32; AT_ONCE]; 4] {
    let mut c0: [u32; AT_ONCE] = std::array::from_fn(|i| (first_block + i as u64) as u32);
    let mut c1: [u32; AT_ONCE] = std::array::from_fn(|i| ((first_block + i as u64) >> 32) as u32);
    let (mut c2, mut c3) = ([stream[0]; AT_ONCE], [stream[1]; AT_ONCE]);
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        for i in 0..AT_ONCE {
            let even = u64::from(MULTIPLIERS[0]) * u64::from(c0[i]);
            let odd = u64::from(MULTIPLIERS[1]) * u64::from(c2[i]);
            c0[i] = (odd >> 32) as u32 ^ c1[i] ^ k0;
            c2[i] = (even >> 32) as u32 ^ c3[i] ^ k1;
            c1[i] = odd as u32;
            c3[i] = even as u32;
        }
        k0 = k0.wrapping_add(KEY_STEPS[0]);
        k1 = k1.wrapping_add(KEY_STEPS[1]);
    }
    [c0, c1, c2, c3]
}

/// Goes through the blocks of a stream from `first_block` on, many at once, for as many elements as
/// `out` has if each block gives `N`.
#[inline(always)]
fn each_blocks<T, const N: usize>(
    out: &mut [T],
    first_block: usize,
    [seed, stream]: [u64; 2],
    mut write: impl FnMut([[u32; AT_ONCE]; 4], &mut [T]),
) {
    let halves = |number: u64| [number as u32, (number >> 32) as u32];
    let (key, stream) = (halves(seed), halves(stream));
    for (i, out) in out.chunks_mut(N * AT_ONCE).enumerate() {
        write(philox_many(key, (first_block + i * AT_ONCE) as u64, stream), out);
    }
}

/// Fills `out` in pieces of `N` elements, each made from one block of the stream.
fn fill<T: Copy + Send, const N: usize>(
    out: &mut [T],
    seed: u64,
    stream: u64,
    make: impl Fn([u32; 4]) -> [T; N] + Sync,
) {
    let parts = Parts::new(out);
    threads::run(parts.len().div_ceil(TASK), |task| {
        let range = task * TASK..parts.len().min((task + 1) * TASK);
        let first_block = range.start / N;
        // SAFETY: the ranges of different tasks do not meet.
        let out = unsafe { parts.get(range) };
        vectorized(
            #[inline(always)]
            || {
                each_blocks::<T, N>(out, first_block, [seed, stream], |words, out| {
                    for (i, out) in out.chunks_mut(N).enumerate() {
                        let values = make(words.map(|words| words[i]));
                        out.copy_from_slice(&values[..out.len()]);
                    }
                });
            },
        );
    });
}

/// Fills `out` with what `make` makes of the words of a stream, one by one.
fn fill_words<T: Copy + Send>(
    out: &mut [T],
    seed: u64,
    stream: u64,
    make: impl Fn(u32) -> T + Sync,
) {
    let parts = Parts::new(out);
    threads::run(parts.len().div_ceil(TASK), |task| {
        let range = task * TASK..parts.len().min((task + 1) * TASK);
        let first_block = range.start / 4;
        // SAFETY: the ranges of different tasks do not meet.
        let out = unsafe { parts.get(range) };
        vectorized(
            #[inline(always)]
            || {
                each_blocks::<T, 4>(out, first_block, [seed, stream], |words, out| {
                    let mut flat = [0u32; 4 * AT_ONCE];
                    for i in 0..AT_ONCE {
                        for (j, words) in words.iter().enumerate() {
                            flat[4 * i + j] = words[i];
                        }
                    }
                    out.iter_mut().zip(&flat).for_each(|(out, &word)| *out = make(word));
                });
            },
        );
    });
}

#[inline(always)]
fn long_words([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    [join(a, b), join(c, d)]
}

/// The upper `digits` bits as a fraction, from 0 to below 1.
#[inline(always)]
fn unit32(word: u32, digits: i32) -> f64 {
    f64::from(word >> (32 - digits)) * 2f64.powi(-digits)
}

/// The upper 53 bits as a fraction, from 0 to below 1.
#[inline(always)]
fn unit64(word: u64) -> f64 {
    (word >> 11) as f64 * 2f64.powi(-53)
}

/// Two independent normal numbers from two fractions, of which the first is above 0.
fn box_muller(a: f64, b: f64) -> [f64; 2] {
    let radius = (-2.0 * a.ln()).sqrt();
    let (sin, cos) = (TAU * b).sin_cos();
    [radius * cos, radius * sin]
}

fn check_float(dtype: DType) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(Error::dtype(format!("random fractions of dtype {dtype}"))
        .remedy("draw f32 numbers and cast them, or draw integers"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let bits = random_bits(0x299f31d0a4093822, 0x0370734413198a2e, 5).unwrap();
        let key = [0xa4093822, 0x299f31d0];
        assert_eq!(bits[..4], philox(key, [0, 0, 0x13198a2e, 0x03707344]));
        assert_eq!(bits[4], philox(key, [1, 0, 0x13198a2e, 0x03707344])[0]);
        for n in [TASK - 1, TASK + 5, 3 * TASK + 70] {
            let bits = random_bits(5, 6 << 32 | 7, n).unwrap();
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
        assert!(box_muller(1.0 - unit32(u32::MAX, 32), 0.0)[0].is_finite());
        assert!(box_muller(1.0 - unit64(u64::MAX), 0.0)[0].is_finite());
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
        let refused =
            |moments, ends| truncated_normal(1, 2, DType::F32, &[1], moments, ends).is_err();
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
}
