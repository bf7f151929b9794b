//! Random numbers that are a function of their position.
//!
//! The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
//! 3", 2011): a keyed scrambling of a 128-bit counter. The key is the seed; the upper half of the counter
//! is the stream, and the lower half numbers the blocks of four words within it. So element `i` depends on
//! seed, stream and `i` only (and on the dtype), whatever the shape and the order of computation.

mod quantile;

use std::f64::consts::TAU;

use fluvial_tensor::{DType, Element, Error, Result, Tensor, bf16, f16};

use crate::lanes::Parts;
use crate::math::log::log;
use crate::math::trig::sin_cos_of_turn;
use crate::simd::vectorized;
use crate::threads;
use quantile::{quantile, tail};

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Evaluates a block with a type name bound to the one of these types that a dtype has; an error if it
/// is another.
macro_rules! among {
    ($dtype:expr, $T:ident in [$($D:ident $type:ty),*] => $body:block) => {
        match $dtype {
            $(DType::$D => {
                type $T = $type;
                $body
            })*
            other => return Err(Error::dtype(format!("random numbers of dtype {other}"))),
        }
    };
}

/// [`among!`] the float types.
macro_rules! among_floats {
    ($dtype:expr, $T:ident => $body:block) => {
        among!($dtype, $T in [F16 f16, BF16 bf16, F32 f32, F64 f64] => $body)
    };
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
    // As many digits as the type has.
    let digits = match dtype {
        DType::F32 => 24,
        DType::F16 => 11,
        _ => 8,
    };
    among_floats!(dtype, T => {
        // What is rounded up to `hi` by the narrow type must not stay there.
        let place = |unit: f64| {
            let value = <T as Element>::from_f64(lo + unit * width);
            if value.to_f64() < hi { value } else { T::from_f64(lo) }
        };
        let out = out.as_mut_slice::<T>()?;
        match T::DTYPE {
            DType::F64 => fill(out, seed, counter, |words| long_words(words).map(|w| place(unit64(w)))),
            _ => {
                let (shift, scale) = (32 - digits, 2f64.powi(-digits));
                fill_words(out, seed, counter, |w| place(f64::from(w >> shift) * scale));
            }
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
    among_floats!(dtype, T => {
        let place = |value: f64| T::from_f64(mean + std * value);
        let out = out.as_mut_slice::<T>()?;
        if T::DTYPE == DType::F64 {
            fill(out, seed, counter, |words| {
                let [a, b] = long_words(words).map(unit64);
                box_muller(1.0 - a, b).map(place)
            });
        } else {
            fill_normal(out, seed, counter, place);
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
    among_floats!(dtype, T => {
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
    let (least, most) = dtype.range().unwrap_or_default();
    let outside = |end: &i64| !(least..=most).contains(&i128::from(*end));
    if let Some(end) = [lo, hi - 1].into_iter().find(outside) {
        return Err(Error::argument(format!("{dtype} cannot hold {end}")));
    }
    if !matches!(dtype, DType::U8 | DType::I8 | DType::I32 | DType::I64) {
        return randint(seed, counter, DType::I64, dims, lo, hi)?.cast(dtype);
    }
    let width = hi.wrapping_sub(lo) as u64;
    let mut out = Tensor::empty(dtype, dims)?;
    among!(dtype, T in [U8 u8, I8 i8, I32 i32, I64 i64] => {
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

/// The words of [`AT_ONCE`] neighbouring blocks, the same as one by one.
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

/// Fills `out` with what `make` makes of normal numbers, four from each block of a stream.
fn fill_normal<T: Copy + Send>(
    out: &mut [T],
    seed: u64,
    stream: u64,
    make: impl Fn(f64) -> T + Sync,
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
                each_blocks::<T, 4>(
                    out,
                    first_block,
                    [seed, stream],
                    #[inline(always)]
                    |[a, b, c, d], out| {
                        let ([w, x], [y, z]) = (normal_pairs(a, b), normal_pairs(c, d));
                        let mut flat = [0.0f32; 4 * AT_ONCE];
                        for i in 0..AT_ONCE {
                            flat[4 * i] = w[i];
                            flat[4 * i + 1] = x[i];
                            flat[4 * i + 2] = y[i];
                            flat[4 * i + 3] = z[i];
                        }
                        for (out, &value) in out.iter_mut().zip(&flat) {
                            *out = make(f64::from(value));
                        }
                    },
                );
            },
        );
    });
}

/// [`box_muller`] in `f32` of pairs of words.
#[inline(always)]
fn normal_pairs(a: [u32; AT_ONCE], b: [u32; AT_ONCE]) -> [[f32; AT_ONCE]; 2] {
    let mut pairs = [[0.0; AT_ONCE]; 2];
    for i in 0..AT_ONCE {
        // A fraction with 24 digits wherever they begin, above 0.
        let fraction = (a[i] as f32 + 0.5) * (1.0 / 4_294_967_296.0);
        let radius = (-2.0 * log(fraction)).sqrt();
        let (sine, cosine) = sin_cos_of_turn(b[i]);
        pairs[0][i] = radius * cosine;
        pairs[1][i] = radius * sine;
    }
    pairs
}

#[inline(always)]
fn long_words([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    [join(a, b), join(c, d)]
}

/// The upper 53 bits as a fraction, from 0 to below 1.
#[inline(always)]
fn unit64(word: u64) -> f64 {
    (word >> 11) as f64 * 2f64.powi(-53)
}

/// Two independent normal numbers from two fractions, of which the first is above 0.
#[inline]
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
mod tests;
