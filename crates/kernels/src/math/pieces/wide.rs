//! The functions with AVX-512, where a table of 32 numbers is two registers and one instruction takes
//! sixteen of them, and with AVX2, where the terms of eight pieces are read as rows and transposed.

use std::arch::x86_64::*;

use super::{PIECES, Pieces, ROUND, TERMS};
use crate::lanes::{Ahead, STEP};

/// Writes the function of `x` to `y` and says whether all numbers are within the pieces. What is written
/// for the others has no meaning. `IS_CHANCE` is that of the pieces.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub(super) fn near_512<const IS_CHANCE: bool>(
    pieces: &Pieces,
    x: &[f32],
    y: &mut [f32],
    ahead: Ahead<f32>,
) -> bool {
    let reach = _mm512_set1_ps(pieces.reach);
    let per_unit = _mm512_set1_ps(pieces.per_unit);
    let mut tables = [[_mm512_setzero_ps(); 2]; TERMS];
    for (table, terms) in tables.iter_mut().zip(&pieces.terms) {
        // SAFETY: there are 32 numbers.
        *table =
            unsafe { [_mm512_loadu_ps(terms.as_ptr()), _mm512_loadu_ps(terms.as_ptr().add(16))] };
    }
    let mut largest = _mm512_setzero_ps();
    let n = x.len().min(y.len());
    for at in (0..n).step_by(16) {
        if at % STEP == 0 {
            ahead.ask(at / STEP);
        }
        let mask = if n - at < 16 { (1 << (n - at)) - 1 } else { u16::MAX };
        // SAFETY: the mask has no more numbers than are left.
        let x = unsafe { _mm512_maskz_loadu_ps(mask, x.as_ptr().add(at)) };
        let size = _mm512_abs_ps(x);
        // If one is NaN, these are the second.
        largest = _mm512_max_ps(size, largest);
        let size = _mm512_min_ps(reach, size);
        let number = _mm512_castps_si512(_mm512_fmadd_ps(size, per_unit, _mm512_set1_ps(ROUND)));
        let term = |k: usize| _mm512_permutex2var_ps(tables[k][0], number, tables[k][1]);
        let place = _mm512_sub_ps(size, term(0));
        let mut lost = term(TERMS - 1);
        for k in (1..TERMS - 1).rev() {
            lost = _mm512_fmadd_ps(lost, place, term(k));
        }
        let result = if IS_CHANCE {
            let is_below = _mm512_movepi32_mask(_mm512_castps_si512(x));
            _mm512_mask_sub_ps(lost, is_below, _mm512_set1_ps(2.0), lost)
        } else {
            _mm512_sub_ps(_mm512_max_ps(_mm512_set1_ps(-0.0), x), lost)
        };
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_ps(y.as_mut_ptr().add(at), mask, result) };
    }
    _mm512_cmp_ps_mask::<_CMP_GE_OQ>(largest, reach) == 0
}

/// As [`near_512`].
#[target_feature(enable = "avx2,fma")]
pub(super) fn near_256(pieces: &Pieces, x: &[f32], y: &mut [f32], ahead: Ahead<f32>) -> bool {
    let mut rows = [[0.0; TERMS]; PIECES];
    for (k, terms) in pieces.terms.iter().enumerate() {
        for (row, &term) in rows.iter_mut().zip(terms) {
            row[k] = term;
        }
    }
    let mut largest = _mm256_setzero_ps();
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks_mut::<8>());
    for (at, (x, y)) in x.iter().zip(y).enumerate() {
        if at * 8 % STEP == 0 {
            ahead.ask(at * 8 / STEP);
        }
        eight(pieces, &rows, x, y, &mut largest);
    }
    if !x_rest.is_empty() {
        let (mut from, mut to) = ([0.0; 8], [0.0; 8]);
        from[..x_rest.len()].copy_from_slice(x_rest);
        eight(pieces, &rows, &from, &mut to, &mut largest);
        y_rest.copy_from_slice(&to[..x_rest.len()]);
    }
    let reach = _mm256_set1_ps(pieces.reach);
    _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(largest, reach)) == 0
}

/// [`near_256`] of eight numbers, with the terms of each piece as a row.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn eight(
    pieces: &Pieces,
    rows: &[[f32; TERMS]; PIECES],
    x: &[f32; 8],
    y: &mut [f32; 8],
    largest: &mut __m256,
) {
    // SAFETY: there are eight numbers.
    let x = unsafe { _mm256_loadu_ps(x.as_ptr()) };
    let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), x);
    *largest = _mm256_max_ps(size, *largest);
    let size = _mm256_min_ps(_mm256_set1_ps(pieces.reach), size);
    let number = _mm256_fmadd_ps(size, _mm256_set1_ps(pieces.per_unit), _mm256_set1_ps(ROUND));
    let mut numbers = [0u32; 8];
    // SAFETY: there is room for eight numbers.
    unsafe { _mm256_storeu_ps(numbers.as_mut_ptr().cast(), number) };
    let terms = transpose(numbers.map(
        #[inline(always)]
        |number| &rows[number as usize % PIECES],
    ));
    let place = _mm256_sub_ps(size, terms[0]);
    let mut lost = terms[TERMS - 1];
    for &term in terms[1..TERMS - 1].iter().rev() {
        lost = _mm256_fmadd_ps(lost, place, term);
    }
    let result = match pieces.is_chance {
        // The sign of x chooses.
        true => _mm256_blendv_ps(lost, _mm256_sub_ps(_mm256_set1_ps(2.0), lost), x),
        false => _mm256_sub_ps(_mm256_max_ps(_mm256_set1_ps(-0.0), x), lost),
    };
    // SAFETY: as above.
    unsafe { _mm256_storeu_ps(y.as_mut_ptr(), result) };
}

/// The columns of eight rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose(rows: [&[f32; 8]; 8]) -> [__m256; 8] {
    // Halves of rows `i` and `i + 4`, side by side.
    let half = |i: usize, at: usize| {
        // SAFETY: four numbers from `at` on are in the row.
        let (low, high) = unsafe {
            (_mm_loadu_ps(rows[i].as_ptr().add(at)), _mm_loadu_ps(rows[i + 4].as_ptr().add(at)))
        };
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
    };
    let four = |at: usize| {
        let (a, b) = (half(0, at), half(1, at));
        let (c, d) = (half(2, at), half(3, at));
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xee>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    };
    let ([a, b, c, d], [e, f, g, h]) = (four(0), four(4));
    [a, b, c, d, e, f, g, h]
}
