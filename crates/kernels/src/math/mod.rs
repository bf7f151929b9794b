//! Elementary functions for `f32` without branches, so that a loop over them is vectorised.
//!
//! Most compute in `f64` with series that are good for `f32` only: one rounding at the end is within one
//! unit in the last place, and neither overflow nor subnormal numbers need care. Those with a division
//! compute in `f32`, which is twice as fast, with numbers in two parts. `mul_add` is one instruction
//! inside [`vectorized`](crate::simd::vectorized) and exact elsewhere, so results are the same everywhere.
//!
//! Where a function is not for all numbers, an `is_…` beside it says for which; the others are left to
//! the slower functions that it stands for.

pub(crate) mod exp;
pub(crate) mod log;
pub(crate) mod normal;
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

#[cfg(test)]
mod tests;
