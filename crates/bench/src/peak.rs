//! What the machine can do at most: multiplications with additions, and moving memory.
//!
//! The fractions of the peak that the table shows are fractions of these, measured in the same run.

use fluvial_kernels::threads;
use fluvial_tensor::{DType, Result, Tensor};

use crate::{Case, Make, numbers};

/// The cases: `fma`, and `triad` with a number of elements.
pub const CASES: &[(&str, Make)] = &[("peak_fma", |_| fma()), ("peak_triad", triad)];

/// Chains of one thread; enough that none waits for another.
const CHAINS: usize = 12;
/// Numbers of one chain: a vector of the widest instructions.
const WIDTH: usize = 16;
const STEPS: usize = 1 << 14;

fn fma() -> Result<Case> {
    let n_threads = threads::count();
    let run = move || {
        threads::run(n_threads, |seed| {
            std::hint::black_box(chains(1.0 + seed as f32 * 1e-6));
        });
        Ok(Tensor::scalar(1.0f32))
    };
    Ok(Case::new(run, || Ok(Tensor::scalar(1.0f64)))
        .computing(2 * n_threads * CHAINS * WIDTH * STEPS))
}

/// Independent chains of multiplications with additions, in registers.
fn chains(factor: f32) -> f32 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has these instructions.
            return unsafe { chains_avx512(factor) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the machine has these instructions.
            return unsafe { chains_avx2(factor) };
        }
    }
    chains_portable(factor)
}

#[inline(always)]
fn chains_portable(factor: f32) -> f32 {
    let mut sums = [[factor; WIDTH]; CHAINS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            for sum in sum {
                *sum = *sum * factor + 0.5;
            }
        }
    }
    sums.as_flattened().iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn chains_avx512(factor: f32) -> f32 {
    use std::arch::x86_64::*;
    let (by, plus) = (_mm512_set1_ps(factor), _mm512_set1_ps(0.5));
    let mut sums = [by; CHAINS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, by, plus);
        }
    }
    // Added as vectors: what looks into each of them here would make the loop above leave the registers.
    let mut total = sums[0];
    for &sum in &sums[1..] {
        total = _mm512_add_ps(total, sum);
    }
    _mm512_reduce_add_ps(total)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn chains_avx2(factor: f32) -> f32 {
    use std::arch::x86_64::*;
    let (by, plus) = (_mm256_set1_ps(factor), _mm256_set1_ps(0.5));
    // Chains of half the width: twice the steps.
    let mut sums = [by; CHAINS];
    for _ in 0..2 * STEPS {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, by, plus);
        }
    }
    let mut total = sums[0];
    for &sum in &sums[1..] {
        total = _mm256_add_ps(total, sum);
    }
    _mm256_cvtss_f32(total)
}

/// `a = b + c * d` over arrays; what counts is that two are read and one is written.
fn triad(sizes: &[usize]) -> Result<Case> {
    let n = sizes.first().copied().unwrap_or(1 << 24);
    let (b, c) = (numbers(DType::F32, &[n])?, numbers(DType::F32, &[n])?);
    let body = fluvial_kernels::Body::binary(|b, c| b + c * 3.0);
    let exact = {
        let (b, c, body) = (b.clone(), c.clone(), body.clone());
        move || {
            let mut out = Tensor::empty(DType::F64, &[n])?;
            body.run(&[&b, &c], &[], DType::F64, &mut out)?;
            Ok(out)
        }
    };
    let run = move || {
        let mut out = Tensor::empty(DType::F32, &[n])?;
        body.run(&[&b, &c], &[], DType::F32, &mut out)?;
        Ok(out)
    };
    Ok(Case::new(run, exact).moving(3 * 4 * n))
}
