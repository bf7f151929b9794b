//! Tiles of products whose operands both are packed, with AVX-512: of `f32`, and of pairs of `bf16` with sums in `f32`.

use std::arch::{asm, x86_64::*};

/// The most rows of a tile, and the numbers in each step of packed rows.
pub(super) const ROWS: usize = 14;

/// The columns of a tile, and of a packed panel.
pub(super) const COLUMNS: usize = super::tile::WIDTH;

/// One tile: `c (+)= a b`, as [`Tile`](super::tile::Tile), where step `p` along `k` has [`ROWS`] numbers
/// from `a + p * ROWS` on and [`COLUMNS`] from `b + p * COLUMNS` on. With [`PAIRS`], what lies in the place of a number of
/// `a` and `b` is a pair of `bf16`.
#[derive(Clone, Copy)]
pub(super) struct PackedTile {
    pub k: usize,
    pub a: *const f32,
    pub b: *const f32,
    /// The number of columns that are written.
    pub width: usize,
    pub c: *mut f32,
    pub c_row: usize,
    /// Whether to add to what is in the output.
    pub add: bool,
    /// What will be needed soon: so many bytes further with each four steps.
    pub ahead: *const u8,
    pub ahead_step: usize,
}

/// Computes a tile.
///
/// # Safety
///
/// The machine has AVX-512; the operands are as the tile says, and nothing else refers to the output
/// meanwhile.
pub(super) type PackedTileFn = unsafe fn(&PackedTile);

/// Functions for one kind of numbers.
pub(super) struct Tiles {
    /// A function for each number of rows from 1 on.
    pub wide: [PackedTileFn; ROWS],
    /// The same for tiles of at most half of the columns: the other half is not computed.
    pub narrow: [PackedTileFn; ROWS],
}

/// Numbers are `f32`.
pub(super) static FLOATS: Tiles = Tiles { wide: floats::WIDE, narrow: floats::NARROW };

/// Numbers are pairs of `bf16`, whose two products are added to the sum. The machine must have AVX-512 BF16.
pub(super) static PAIRS: Tiles = Tiles { wide: pairs::WIDE, narrow: pairs::NARROW };

/// Functions for tiles of some rows, each with two sums: 28 vectors for 14 rows, two vectors of `b`, one of
/// `a`. The loops are spelt out, since the compiler would not have registers enough.
macro_rules! tiles {
    (@row $op:literal, $at:literal, $i:literal, $low:ident, $high:ident) => {
        concat!(
            "vbroadcastss {left}, dword ptr [{a} + ", $at, "4 * ", $i, "]\n",
            $op, " {", stringify!($low), "}, {left}, {b0}\n",
            $op, " {", stringify!($high), "}, {left}, {b1}",
        )
    };
    ($op:literal, $features:literal; $($name:ident: $($i:literal $low:ident $high:ident),*;)*) => {$(
        #[target_feature(enable = $features)]
        fn $name(tile: &PackedTile) {
            $(let (mut $low, mut $high) = (_mm512_setzero_ps(), _mm512_setzero_ps());)*
            let (mut a, mut b, mut ahead) = (tile.a, tile.b, tile.ahead);
            // The lines of the output are asked for one after the other: all at once, they would keep the
            // operands waiting.
            let (mut c, all, first) = (tile.c, tile.k / 4, [$($i),*].len());
            for (steps, row) in [(first.min(all), tile.c_row * 4), (all.saturating_sub(first), 0)] {
                if steps == 0 {
                    continue;
                }
                // SAFETY: the operands have so many steps, and each a number for each row and column. A
                // prefetch may have any address.
                unsafe {
                    asm!(
                        "2:",
                        "prefetcht0 [{ahead}]",
                        "prefetchw [{c}]",
                        "prefetchw [{c} + 64]",
                        "add {ahead}, {ahead_step}",
                        "add {c}, {row}",
                        "vmovups {b0}, [{b}]",
                        "vmovups {b1}, [{b} + 64]",
                        $(tiles!(@row $op, "", $i, $low, $high),)*
                        "vmovups {b0}, [{b} + 128]",
                        "vmovups {b1}, [{b} + 192]",
                        $(tiles!(@row $op, "56 + ", $i, $low, $high),)*
                        "vmovups {b0}, [{b} + 256]",
                        "vmovups {b1}, [{b} + 320]",
                        $(tiles!(@row $op, "112 + ", $i, $low, $high),)*
                        "vmovups {b0}, [{b} + 384]",
                        "vmovups {b1}, [{b} + 448]",
                        $(tiles!(@row $op, "168 + ", $i, $low, $high),)*
                        "add {a}, 224",
                        "add {b}, 512",
                        "dec {steps}",
                        "jnz 2b",
                        a = inout(reg) a,
                        b = inout(reg) b,
                        c = inout(reg) c,
                        row = in(reg) row,
                        ahead = inout(reg) ahead,
                        ahead_step = in(reg) tile.ahead_step,
                        steps = inout(reg) steps => _,
                        b0 = out(zmm_reg) _,
                        b1 = out(zmm_reg) _,
                        left = out(zmm_reg) _,
                        $($low = inout(zmm_reg) $low, $high = inout(zmm_reg) $high,)*
                        options(readonly, nostack),
                    );
                }
            }
            for _ in 0..tile.k % 4 {
                // SAFETY: the operands have this step.
                unsafe {
                    asm!(
                        "vmovups {b0}, [{b}]",
                        "vmovups {b1}, [{b} + 64]",
                        $(tiles!(@row $op, "", $i, $low, $high),)*
                        a = in(reg) a,
                        b = in(reg) b,
                        b0 = out(zmm_reg) _,
                        b1 = out(zmm_reg) _,
                        left = out(zmm_reg) _,
                        $($low = inout(zmm_reg) $low, $high = inout(zmm_reg) $high,)*
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                a = a.wrapping_add(ROWS);
                b = b.wrapping_add(COLUMNS);
            }
            write(tile, &[$([$low, $high]),*]);
        }
    )*};
}

/// Functions for one kind of numbers: the instruction, what it needs, and the same for one sum.
macro_rules! kinds {
    ($($kind:ident: $op:literal, $features:literal, $sum:expr;)*) => {$(
        mod $kind {
            use super::*;

            pub(super) const WIDE: [PackedTileFn; ROWS] = [
                rows_1, rows_2, rows_3, rows_4, rows_5, rows_6, rows_7, rows_8, rows_9, rows_10, rows_11,
                rows_12, rows_13, rows_14,
            ];

            pub(super) const NARROW: [PackedTileFn; ROWS] = [
                narrow::<1>, narrow::<2>, narrow::<3>, narrow::<4>, narrow::<5>, narrow::<6>, narrow::<7>,
                narrow::<8>, narrow::<9>, narrow::<10>, narrow::<11>, narrow::<12>, narrow::<13>, narrow::<14>,
            ];

            tiles! { $op, $features;
            rows_1: 0 l0 h0;
            rows_2: 0 l0 h0, 1 l1 h1;
            rows_3: 0 l0 h0, 1 l1 h1, 2 l2 h2;
            rows_4: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3;
            rows_5: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4;
            rows_6: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5;
            rows_7: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6;
            rows_8: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7;
            rows_9: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8;
            rows_10: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8, 9 l9 h9;
            rows_11: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8, 9 l9 h9, 10 l10 h10;
            rows_12: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8, 9 l9 h9, 10 l10 h10, 11 l11 h11;
            rows_13: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8, 9 l9 h9, 10 l10 h10, 11 l11 h11, 12 l12 h12;
            rows_14: 0 l0 h0, 1 l1 h1, 2 l2 h2, 3 l3 h3, 4 l4 h4, 5 l5 h5, 6 l6 h6, 7 l7 h7, 8 l8 h8, 9 l9 h9, 10 l10 h10, 11 l11 h11, 12 l12 h12, 13 l13 h13;
            }

            /// A tile of so many rows with one sum each.
            #[target_feature(enable = $features)]
            fn narrow<const R: usize>(tile: &PackedTile) {
                let mut sums = [_mm512_setzero_ps(); R];
                let (mut a, mut b) = (tile.a, tile.b);
                for _ in 0..tile.k {
                    // SAFETY: the operands have this step, and it a number for each row and column.
                    unsafe {
                        let right = _mm512_loadu_ps(b);
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum = $sum(_mm512_set1_ps(*a.wrapping_add(i)), right, *sum);
                        }
                    }
                    a = a.wrapping_add(ROWS);
                    b = b.wrapping_add(COLUMNS);
                }
                write(tile, &sums.map(|sum| [sum, _mm512_setzero_ps()]));
            }
        }
    )*};
}

#[rustfmt::skip]
kinds! {
    floats: "vfmadd231ps", "avx512f", _mm512_fmadd_ps;
    pairs: "vdpbf16ps", "avx512f,avx512bf16", add_pairs;
}

/// Adds the two products of each pair of `bf16` to the sums.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn add_pairs(a: __m512, b: __m512, sum: __m512) -> __m512 {
    // SAFETY: both types are 512 bits without any rule.
    let pairs = |x: __m512| unsafe { std::mem::transmute::<__m512, __m512bh>(x) };
    _mm512_dpbf16_ps(sum, pairs(a), pairs(b))
}

/// Writes the sums.
#[target_feature(enable = "avx512f")]
#[inline]
fn write<const R: usize>(tile: &PackedTile, sums: &[[__m512; 2]; R]) {
    let mask = |columns: usize| ((1u32 << columns.min(16)) - 1) as __mmask16;
    let masks = [mask(tile.width), mask(tile.width.saturating_sub(16))];
    for (i, sums) in sums.iter().enumerate() {
        for (half, (&sum, mask)) in sums.iter().zip(masks).enumerate() {
            let c = tile.c.wrapping_add(i * tile.c_row + 16 * half);
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
