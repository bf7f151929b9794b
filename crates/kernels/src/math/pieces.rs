//! Functions for `f32` by a table: the number line is cut into pieces, each with a polynomial of its own.
//!
//! The polynomials are short and need no exponential function. With AVX-512 the table lies in registers,
//! and one instruction takes sixteen numbers from it; elsewhere, it is not slower than other ways.
//!
//! Here are functions `f(x) = x s(x)`, where s goes from 0 to 1 and `s(-x) = 1 - s(x)`. The table has what
//! x loses, `lost(t) = t s(-t)` for t = |x|: f is -lost below 0 and x - lost above. Of [`erfc`] the table has
//! the values themselves, and below 0 it is 2 - lost.

mod tables;
#[cfg(target_arch = "x86_64")]
mod wide;

use super::{at_least, at_most, normal, pick, sigmoid, sign_mask};
use crate::lanes::Ahead;
use tables::{ERFC, GELU, SILU};

/// The number of pieces.
const PIECES: usize = 32;

/// The terms of a piece: where its zero is, and then those of the polynomial, of degree 6.
const TERMS: usize = 8;

/// 1.5 * 2^23: a number that is added to it loses its digits after the point.
const ROUND: f32 = 12582912.0;

/// A function by pieces of the same length; the first is half as long, since it begins at 0.
///
/// The zero of a piece is near its middle, at a number whose value is nearly one of `f32`, so that the
/// constant term adds no error.
struct Pieces {
    /// The inverse of the length of a piece.
    per_unit: f32,
    /// The end of the last piece.
    reach: f32,
    /// Whether the function is that of the table, and not x without it.
    is_chance: bool,
    terms: [[f32; PIECES]; TERMS],
}

/// x Phi(x), with Phi the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    one(&GELU, x, normal::gelu)
}

/// [`gelu`] of many numbers.
#[inline(always)]
pub(crate) fn gelu_of_many(x: &[f32], y: &mut [f32], ahead: Ahead<f32>) {
    many(&GELU, x, y, ahead, normal::gelu);
}

/// x sigmoid(x)
#[inline(always)]
pub(crate) fn silu(x: f32) -> f32 {
    one(&SILU, x, sigmoid::silu)
}

/// [`silu`] of many numbers.
#[inline(always)]
pub(crate) fn silu_of_many(x: &[f32], y: &mut [f32], ahead: Ahead<f32>) {
    many(&SILU, x, y, ahead, sigmoid::silu);
}

/// 1 - erf(x)
#[inline(always)]
pub(crate) fn erfc(x: f32) -> f32 {
    one(&ERFC, x, normal::far_erfc)
}

/// [`erfc`] of many numbers.
#[inline(always)]
pub(crate) fn erfc_of_many(x: &[f32], y: &mut [f32], ahead: Ahead<f32>) {
    many(&ERFC, x, y, ahead, normal::far_erfc);
}

/// The function of one number; `far` is for those at or beyond the end of the pieces, where rounding may
/// give the number of a piece that is not there.
#[inline(always)]
fn one(pieces: &Pieces, x: f32, far: impl Fn(f32) -> f32) -> f32 {
    if x.abs() >= pieces.reach { far(x) } else { near(pieces, x) }
}

/// The function of a number within the pieces, or NaN.
#[inline(always)]
fn near(pieces: &Pieces, x: f32) -> f32 {
    let size = at_most(x.abs(), pieces.reach);
    let number = size.mul_add(pieces.per_unit, ROUND).to_bits() as usize % PIECES;
    let place = size - pieces.terms[0][number];
    let mut lost = pieces.terms[TERMS - 1][number];
    for terms in pieces.terms[1..TERMS - 1].iter().rev() {
        lost = lost.mul_add(place, terms[number]);
    }
    match pieces.is_chance {
        true => pick(sign_mask(x), 2.0 - lost, lost),
        false => at_least(x, -0.0) - lost,
    }
}

/// The function of many numbers.
#[inline(always)]
fn many(pieces: &Pieces, x: &[f32], y: &mut [f32], ahead: Ahead<f32>, far: impl Fn(f32) -> f32) {
    let all_near = match crate::simd::level() {
        // SAFETY: the machine has the instructions of the level.
        #[cfg(target_arch = "x86_64")]
        crate::simd::Level::Avx512 => unsafe {
            match pieces.is_chance {
                true => wide::near_512::<true>(pieces, x, y, ahead),
                false => wide::near_512::<false>(pieces, x, y, ahead),
            }
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        crate::simd::Level::Avx2 => unsafe { wide::near_256(pieces, x, y, ahead) },
        _ => {
            // Prefetching is for those that are faster than memory.
            let _ = ahead;
            let mut any_far = false;
            for (y, &x) in y.iter_mut().zip(x) {
                *y = near(pieces, x);
                any_far |= x.abs() >= pieces.reach;
            }
            !any_far
        }
    };
    if !all_near {
        for (y, &x) in y.iter_mut().zip(x) {
            let far = far(x);
            *y = if x.abs() >= pieces.reach { far } else { *y };
        }
    }
}
