//! What the kernels of this folder share: vectors of 16 `f32`.

use std::arch::x86_64::*;

/// The rows of a square of 16 x 16 as its columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn transpose(rows: [__m512; 16]) -> [__m512; 16] {
    let mut pairs = rows;
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
    }
    let low = |a, b| _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    let high =
        |a, b| _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
    let mut fours = pairs;
    for i in 0..4 {
        fours[4 * i] = low(pairs[4 * i], pairs[4 * i + 2]);
        fours[4 * i + 1] = high(pairs[4 * i], pairs[4 * i + 2]);
        fours[4 * i + 2] = low(pairs[4 * i + 1], pairs[4 * i + 3]);
        fours[4 * i + 3] = high(pairs[4 * i + 1], pairs[4 * i + 3]);
    }
    let mut columns = fours;
    for j in 0..4 {
        let a = _mm512_shuffle_f32x4::<0x88>(fours[j], fours[4 + j]);
        let b = _mm512_shuffle_f32x4::<0x88>(fours[8 + j], fours[12 + j]);
        let c = _mm512_shuffle_f32x4::<0xdd>(fours[j], fours[4 + j]);
        let d = _mm512_shuffle_f32x4::<0xdd>(fours[8 + j], fours[12 + j]);
        columns[j] = _mm512_shuffle_f32x4::<0x88>(a, b);
        columns[4 + j] = _mm512_shuffle_f32x4::<0x88>(c, d);
        columns[8 + j] = _mm512_shuffle_f32x4::<0xdd>(a, b);
        columns[12 + j] = _mm512_shuffle_f32x4::<0xdd>(c, d);
    }
    columns
}

/// The first `n` lanes, all of them from 16 on.
#[inline(always)]
pub(super) fn first(n: usize) -> __mmask16 {
    if n >= 16 { !0 } else { (1 << n) - 1 }
}

/// Copies `n` numbers that do not overlap.
///
/// # Safety
///
/// Both sides have room for `n`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) unsafe fn copy(from: *const f32, to: *mut f32, n: usize) {
    let mut at = 0;
    // SAFETY: masks keep all accesses below `n`, which the caller vouches for.
    unsafe {
        while at + 16 <= n {
            _mm512_storeu_ps(to.add(at), _mm512_loadu_ps(from.add(at)));
            at += 16;
        }
        if at < n {
            let mask = first(n - at);
            let rest = _mm512_maskz_loadu_ps(mask, from.add(at));
            _mm512_mask_storeu_ps(to.add(at), mask, rest);
        }
    }
}

/// Rows of memory that will be read soon.
#[derive(Clone, Copy)]
pub(super) struct Soon {
    pub(super) data: *const f32,
    /// Elements from row to row, and those of a row that matter.
    pub(super) step: usize,
    pub(super) len: usize,
    pub(super) rows: usize,
}

impl Soon {
    /// Asks for part `number` of `n_parts` of the rows.
    #[inline(always)]
    pub(super) fn fetch(&self, n_parts: usize, number: usize) {
        for row in self.rows * number / n_parts..self.rows * (number + 1) / n_parts {
            for line in 0..self.len.div_ceil(16) {
                let at = self.data.wrapping_add(row * self.step + line * 16);
                // SAFETY: a prefetch of any address is harmless.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
            }
        }
    }
}

/// Where a product of 8 rows by `16 * N` columns reads and writes; steps are in elements.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The terms of the sums.
    pub(super) depth: usize,
    /// For each term, 8 numbers.
    pub(super) left: *const f32,
    pub(super) left_step: usize,
    /// For each term, `16 * N` numbers.
    pub(super) right: *const f32,
    pub(super) right_step: usize,
    pub(super) out: *mut f32,
    pub(super) out_step: usize,
    /// Whether to add to what is there.
    pub(super) add: bool,
}

/// The sum over `depth` of the products of each of 8 numbers with `n_vectors` vectors, 1 to 3.
///
/// # Safety
///
/// All that [`Tile`] describes is there.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) unsafe fn product(n_vectors: usize, tile: Tile) {
    // SAFETY: the caller's promise.
    unsafe {
        match n_vectors {
            1 => product_of::<1>(tile),
            2 => product_of::<2>(tile),
            _ => product_of::<3>(tile),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn product_of<const N: usize>(tile: Tile) {
    let mut sums = [[_mm512_setzero_ps(); N]; 8];
    let (mut left, mut right) = (tile.left, tile.right);
    // SAFETY: the reads are those of `depth` terms, the writes those of the tile, by the caller's promise.
    unsafe {
        for _ in 0..tile.depth {
            let mut vectors = [_mm512_setzero_ps(); N];
            for (i, vector) in vectors.iter_mut().enumerate() {
                *vector = _mm512_loadu_ps(right.add(16 * i));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(*left.add(row));
                for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                    *sum = _mm512_fmadd_ps(factor, vector, *sum);
                }
            }
            left = left.add(tile.left_step);
            right = right.wrapping_add(tile.right_step);
        }
        for (row, sums) in sums.iter().enumerate() {
            for (i, &sum) in sums.iter().enumerate() {
                let to = tile.out.add(row * tile.out_step + 16 * i);
                let before = if tile.add { _mm512_loadu_ps(to) } else { _mm512_setzero_ps() };
                _mm512_storeu_ps(to, _mm512_add_ps(before, sum));
            }
        }
    }
}
