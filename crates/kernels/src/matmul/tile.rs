//! The inner kernels of our own products of `f32`: one tile of the output in registers.
//!
//! A tile has up to [`Kernel::rows`] rows and [`WIDTH`] columns. The left matrix may have any strides, its
//! elements are broadcast; the right one has contiguous rows, `b_row` apart, such as a packed panel or
//! the matrix itself. Each element of the output is one chain of fused multiply-adds along `k` (the
//! portable kernel rounds after each product), so it does not depend on the tile it is in.

#[cfg(target_arch = "x86_64")]
use std::arch::{asm, x86_64::*};

use crate::simd::{self, Level};

/// The columns of a tile, and of a packed panel.
pub(super) const WIDTH: usize = 32;

/// One tile: `c (+)= a b`.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The length of the chain of products.
    pub k: usize,
    /// The left matrix and its strides in elements.
    pub a: *const f32,
    pub a_row: isize,
    pub a_column: isize,
    /// The right matrix and the distance of its rows.
    pub b: *const f32,
    pub b_row: isize,
    /// The number of columns, from 1 to [`WIDTH`].
    pub width: usize,
    /// The output and the distance of its rows.
    pub c: *mut f32,
    pub c_row: isize,
    /// Whether to add to what is in the output.
    pub add: bool,
    /// What will be needed next, and soon: so many bytes further with each step along `k`.
    pub ahead: *const u8,
    pub ahead_step: usize,
    pub later: *const u8,
    pub later_step: usize,
}

/// Computes a tile.
///
/// # Safety
///
/// The machine has the instructions of the kernel; the matrices of the [`Tile`] are as it says, and
/// nothing else refers to the output meanwhile.
pub(super) type TileFn = unsafe fn(&Tile);

/// The tiles of one set of instructions.
pub(super) struct Kernel {
    /// A tile function for each number of rows from 1 on.
    tiles: &'static [TileFn],
}

impl Kernel {
    /// The kernel for this machine.
    pub(super) fn best() -> &'static Kernel {
        match simd::level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => &AVX512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => &AVX2,
            _ => &PORTABLE,
        }
    }

    /// The most rows of a tile.
    pub(super) fn rows(&self) -> usize {
        self.tiles.len()
    }

    /// The function for tiles of so many rows.
    pub(super) fn tile(&self, rows: usize) -> TileFn {
        self.tiles[rows - 1]
    }
}

#[cfg(target_arch = "x86_64")]
static AVX512: Kernel = Kernel {
    tiles: &[
        avx512::<1>,
        avx512::<2>,
        avx512::<3>,
        avx512::<4>,
        avx512::<5>,
        avx512::<6>,
        avx512::<7>,
        avx512::<8>,
        avx512::<9>,
        avx512::<10>,
        avx512::<11>,
        avx512::<12>,
        avx512::<13>,
        avx512::<14>,
    ],
};

#[cfg(target_arch = "x86_64")]
static AVX2: Kernel =
    Kernel { tiles: &[avx2::<1>, avx2::<2>, avx2::<3>, avx2::<4>, avx2::<5>, avx2::<6>] };

static PORTABLE: Kernel =
    Kernel { tiles: &[portable::<1>, portable::<2>, portable::<3>, portable::<4>] };

/// Two vectors for each of up to 14 rows: 28 sums, two vectors of `b`, one of `a`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512<const R: usize>(tile: &Tile) {
    let mask = |columns: usize| ((1u32 << columns.min(16)) - 1) as __mmask16;
    let (low, high) = (mask(tile.width), mask(tile.width.saturating_sub(16)));
    let (row, column) = (tile.a_row * 4, tile.a_column * 4);
    let first = tile.a.cast::<u8>();
    let mut rows: [*const u8; 5] =
        std::array::from_fn(|i| first.wrapping_offset(3 * i as isize * row));
    let (mut b, mut ahead, mut later) = (tile.b, tile.ahead, tile.later);
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    for _ in 0..tile.k {
        // SAFETY: the row of `b` has the columns of the masks, and each row of `a` this element. A
        // prefetch may have any address.
        unsafe {
            let right =
                [_mm512_maskz_loadu_ps(low, b), _mm512_maskz_loadu_ps(high, b.wrapping_add(16))];
            _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
            _mm_prefetch::<_MM_HINT_T1>(later.cast());
            // Row `i` is a multiple of the stride after one of five pointers, one that an address may
            // have. It is spelt out, since the compiler would compute more pointers than there are
            // registers.
            macro_rules! rows {
                ($($i:literal: $pointer:literal $address:literal,)*) => {$(
                    if $i < R {
                        asm!(
                            concat!("vbroadcastss {left}, dword ptr [{from} ", $address, "]"),
                            "vfmadd231ps {low}, {left}, {right_low}",
                            "vfmadd231ps {high}, {left}, {right_high}",
                            left = out(zmm_reg) _,
                            low = inout(zmm_reg) sums[$i % R][0],
                            high = inout(zmm_reg) sums[$i % R][1],
                            right_low = in(zmm_reg) right[0],
                            right_high = in(zmm_reg) right[1],
                            from = in(reg) rows[$pointer],
                            stride = in(reg) row,
                            options(pure, readonly, nostack, preserves_flags),
                        );
                    }
                )*};
            }
            rows! {
                0: 0 "/*{stride}*/",
                1: 0 "+ {stride}",
                2: 0 "+ {stride}*2",
                3: 1 "/*{stride}*/",
                4: 0 "+ {stride}*4",
                5: 1 "+ {stride}*2",
                6: 2 "/*{stride}*/",
                7: 1 "+ {stride}*4",
                8: 0 "+ {stride}*8",
                9: 3 "/*{stride}*/",
                10: 2 "+ {stride}*4",
                11: 1 "+ {stride}*8",
                12: 4 "/*{stride}*/",
                13: 3 "+ {stride}*4",
            }
        }
        rows = rows.map(|pointer| pointer.wrapping_offset(column));
        b = b.wrapping_offset(tile.b_row);
        ahead = ahead.wrapping_add(tile.ahead_step);
        later = later.wrapping_add(tile.later_step);
    }
    for (i, sums) in sums.iter().enumerate() {
        for (mask, sum, at) in [(low, sums[0], 0), (high, sums[1], 16)] {
            let c = tile.c.wrapping_offset(i as isize * tile.c_row).wrapping_add(at);
            // SAFETY: the row of `c` has the columns of the mask.
            unsafe {
                let sum = match tile.add {
                    true => _mm512_add_ps(_mm512_maskz_loadu_ps(mask, c), sum),
                    false => sum,
                };
                _mm512_mask_storeu_ps(c, mask, sum);
            }
        }
    }
}

/// Two vectors of 8 for each of up to 6 rows, twice.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<const R: usize>(tile: &Tile) {
    let mut ahead = tile.ahead;
    for from in (0..tile.width).step_by(16) {
        let mask = |before: usize| {
            let count = tile.width.saturating_sub(from + before).min(8) as i32;
            let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count), numbers)
        };
        let masks = [mask(0), mask(8)];
        let mut a = tile.a;
        let mut b = tile.b.wrapping_add(from);
        let mut sums = [[_mm256_setzero_ps(); 2]; R];
        for _ in 0..tile.k {
            // SAFETY: the row of `b` has the columns of the masks, and each row of `a` this element. A
            // prefetch may have any address.
            unsafe {
                let right = [
                    _mm256_maskload_ps(b, masks[0]),
                    _mm256_maskload_ps(b.wrapping_add(8), masks[1]),
                ];
                _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                for (i, sums) in sums.iter_mut().enumerate() {
                    let left = _mm256_set1_ps(*a.wrapping_offset(i as isize * tile.a_row));
                    sums[0] = _mm256_fmadd_ps(left, right[0], sums[0]);
                    sums[1] = _mm256_fmadd_ps(left, right[1], sums[1]);
                }
            }
            a = a.wrapping_offset(tile.a_column);
            b = b.wrapping_offset(tile.b_row);
            ahead = ahead.wrapping_add(tile.ahead_step / 2);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (half, &sum) in sums.iter().enumerate() {
                let c = tile.c.wrapping_offset(i as isize * tile.c_row);
                let c = c.wrapping_add(from + 8 * half);
                // SAFETY: the row of `c` has the columns of the mask.
                unsafe {
                    let sum = match tile.add {
                        true => _mm256_add_ps(_mm256_maskload_ps(c, masks[half]), sum),
                        false => sum,
                    };
                    _mm256_maskstore_ps(c, masks[half], sum);
                }
            }
        }
    }
}

/// Eight columns at a time, for any machine.
fn portable<const R: usize>(tile: &Tile) {
    for from in (0..tile.width).step_by(8) {
        let width = (tile.width - from).min(8);
        let mut sums = [[0.0f32; 8]; R];
        for p in 0..tile.k as isize {
            let mut right = [0.0f32; 8];
            let b = tile.b.wrapping_offset(p * tile.b_row).wrapping_add(from);
            // SAFETY: the row of `b` has `width` columns from here on.
            right[..width].copy_from_slice(unsafe { std::slice::from_raw_parts(b, width) });
            for (i, sums) in sums.iter_mut().enumerate() {
                let at = i as isize * tile.a_row + p * tile.a_column;
                // SAFETY: row `i` of `a` has an element `p`.
                let left = unsafe { *tile.a.wrapping_offset(at) };
                sums.iter_mut().zip(right).for_each(|(sum, right)| *sum += left * right);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            let c = tile.c.wrapping_offset(i as isize * tile.c_row).wrapping_add(from);
            // SAFETY: row `i` of `c` has `width` columns from here on.
            let c = unsafe { std::slice::from_raw_parts_mut(c, width) };
            for (c, sum) in c.iter_mut().zip(sums) {
                *c = if tile.add { *c + sum } else { *sum };
            }
        }
    }
}
