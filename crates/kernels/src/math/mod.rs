//! Elementary functions for `f32` without branches, so that a loop over them is vectorised.
//!
//! Most compute in `f32`, with numbers in two parts where one rounding more would show: the results are
//! within two units in the last place, subnormal numbers included. Some compute in `f64` with series that
//! are good for `f32` only, at half the speed. `mul_add` is one instruction inside
//! [`vectorized`](crate::simd::vectorized) and exact elsewhere, so results are the same everywhere.
//!
//! Where a function is not for all numbers, an `is_…` beside it says for which; the others are left to
//! the slower functions that it stands for.

pub(crate) mod exp;
pub(crate) mod log;
pub(crate) mod normal;
pub(crate) mod pieces;
pub(crate) mod sigmoid;
pub(crate) mod trig;

/// `terms[0] + terms[1] * x + …`
#[inline(always)]
fn horner<const N: usize>(terms: &[f64; N], x: f64) -> f64 {
    let mut sum = terms[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, terms[i]);
    }
    sum
}

/// `terms[0] + terms[1] * x + …`
#[inline(always)]
fn horner32<const N: usize>(terms: &[f32; N], x: f32) -> f32 {
    let mut sum = terms[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, terms[i]);
    }
    sum
}

/// `x`, but not below `low`; NaN stays.
#[inline(always)]
fn at_least(x: f32, low: f32) -> f32 {
    if x < low { low } else { x }
}

/// `x`, but not above `high`; NaN stays.
#[inline(always)]
fn at_most(x: f32, high: f32) -> f32 {
    if x > high { high } else { x }
}

/// All bits are set if the sign of `x` is.
#[inline(always)]
fn sign_mask(x: f32) -> u32 {
    (x.to_bits() as i32 >> 31) as u32
}

/// `a` where the bits of `mask` are set, else `b`. Other than after an `if`, the compiler never computes
/// all that follows twice.
#[inline(always)]
fn pick(mask: u32, a: f32, b: f32) -> f32 {
    f32::from_bits(a.to_bits() & mask | b.to_bits() & !mask)
}

#[cfg(test)]
mod tests;
