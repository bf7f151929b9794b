//! Copying a matrix: into panels of [`WIDTH`] columns, into tiles of rows, or with rows that are contiguous.

#[cfg(target_arch = "x86_64")]
use std::{arch::x86_64::*, ops::Range};

use fluvial_tensor::{DType, Result, Tensor};

use super::matrix::Matrix;
#[cfg(target_arch = "x86_64")]
use super::packed_tile::ROWS;
use super::tile::WIDTH;
#[cfg(target_arch = "x86_64")]
use crate::simd::{self, Level};
#[cfg(target_arch = "x86_64")]
use crate::threads;

/// Copies `k` rows and `width` columns to a panel of `k` rows of [`WIDTH`], filled up with 0.
///
/// # Safety
///
/// The matrix has these rows and columns, the panel room for `k * WIDTH` numbers.
pub(super) unsafe fn pack(b: Matrix<f32>, k: usize, width: usize, panel: *mut f32) {
    #[cfg(target_arch = "x86_64")]
    if simd::level() == Level::Avx512 {
        // SAFETY: the machine has the instructions; the rest by the caller's promise.
        return unsafe {
            match (b.row_stride, b.column_stride) {
                (_, 1) => rows_avx512(b, k, width, panel),
                (1, _) => columns_avx512(b, k, width, panel),
                _ => plain(b, 0, k, width, panel),
            }
        };
    }
    // SAFETY: by the caller's promise.
    unsafe { plain(b, 0, k, width, panel) };
}

/// Any strides, from row `from` on.
unsafe fn plain(b: Matrix<f32>, from: usize, k: usize, width: usize, panel: *mut f32) {
    for p in from..k {
        // SAFETY: the panel has row `p`.
        let row = unsafe { std::slice::from_raw_parts_mut(panel.wrapping_add(p * WIDTH), WIDTH) };
        let data = b.from(p, 0).data;
        for (column, to) in row.iter_mut().enumerate() {
            *to = match column < width {
                // SAFETY: row `p` of `b` has this column.
                true => unsafe { *data.wrapping_offset(column as isize * b.column_stride) },
                false => 0.0,
            };
        }
    }
}

/// Contiguous rows.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn rows_avx512(b: Matrix<f32>, k: usize, width: usize, panel: *mut f32) {
    let mask = |columns: usize| ((1u32 << columns.min(16)) - 1) as __mmask16;
    let (low, high) = (mask(width), mask(width.saturating_sub(16)));
    for p in 0..k {
        let (row, far) = (b.from(p, 0).data, b.from(p + 12, 0).data);
        let to = panel.wrapping_add(p * WIDTH);
        // SAFETY: row `p` has the columns of the masks, the panel this row; a prefetch may have any
        // address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(far.cast());
            _mm_prefetch::<_MM_HINT_T0>(far.wrapping_add(16).cast());
            _mm512_storeu_ps(to, _mm512_maskz_loadu_ps(low, row));
            let right = _mm512_maskz_loadu_ps(high, row.wrapping_add(16));
            _mm512_storeu_ps(to.wrapping_add(16), right);
        }
    }
}

/// Copies `k` contiguous rows of whole panels, one after the other: panel by panel, each row would be one of
/// another page.
///
/// # Safety
///
/// The machine has AVX-512. The matrix has these rows and the columns of all panels; there is room for them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn pack_rows(b: Matrix<f32>, k: usize, n_panels: usize, panels: *mut f32) {
    for p in 0..k {
        let (row, far) = (b.from(p, 0).data, b.from(p + 4, 0).data);
        for panel in 0..n_panels {
            let (first, to) = (panel * WIDTH, panels.wrapping_add((panel * k + p) * WIDTH));
            // SAFETY: the row has these columns, the panel this row; a prefetch may have any address.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(far.wrapping_add(first).cast());
                _mm_prefetch::<_MM_HINT_T0>(far.wrapping_add(first + 16).cast());
                _mm512_storeu_ps(to, _mm512_loadu_ps(row.wrapping_add(first)));
                let right = _mm512_loadu_ps(row.wrapping_add(first + 16));
                _mm512_storeu_ps(to.wrapping_add(16), right);
            }
        }
    }
}

/// Contiguous columns: blocks of 16 x 16 are transposed in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn columns_avx512(b: Matrix<f32>, k: usize, width: usize, panel: *mut f32) {
    for half in 0..2 {
        let columns = width.saturating_sub(16 * half).min(16);
        let to = panel.wrapping_add(16 * half);
        // SAFETY: by the caller's promise, and rows of the panel have 16 numbers in each half.
        unsafe { blocks_avx512(b.from(0, 16 * half), k, columns, 16, to, WIDTH) };
    }
}

/// Transposes `k` rows of up to 16 columns; writes `filled` columns, of which the last may be 0.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn blocks_avx512(
    b: Matrix<f32>,
    k: usize,
    columns: usize,
    filled: usize,
    to: *mut f32,
    to_row: usize,
) {
    let mut from = 0;
    let whole = k / 16 * 16;
    while from < whole && (columns == 16 || columns == ROWS) && filled == columns {
        let (b, to) = (b.from(from, 0), to.wrapping_add(from * to_row));
        // SAFETY: by the caller's promise.
        unsafe {
            match columns {
                16 => block_avx512::<16>(b, to, to_row),
                _ => block_avx512::<ROWS>(b, to, to_row),
            }
        }
        from += 16;
    }
    let filled = ((1u32 << filled) - 1) as __mmask16;
    for from in (from..k).step_by(16) {
        let rows = (k - from).min(16);
        let mask = ((1u32 << rows) - 1) as __mmask16;
        let block: [__m512; 16] = std::array::from_fn(|column| match column < columns {
            // SAFETY: the column has the rows of the mask.
            true => unsafe { _mm512_maskz_loadu_ps(mask, b.from(from, column).data) },
            false => _mm512_setzero_ps(),
        });
        for (row, vector) in transpose(block).into_iter().enumerate().take(rows) {
            // SAFETY: the output has this row and the columns of the mask.
            unsafe {
                _mm512_mask_storeu_ps(to.wrapping_add((from + row) * to_row), filled, vector);
            }
        }
    }
}

/// How many rows ahead [`block_avx512`] asks for.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 64;

/// Transposes 16 rows of so many contiguous columns.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn block_avx512<const COLUMNS: usize>(b: Matrix<f32>, to: *mut f32, to_row: usize) {
    let mut block = [_mm512_setzero_ps(); 16];
    for (column, vector) in block.iter_mut().enumerate().take(COLUMNS) {
        let data = b.from(0, column).data;
        // SAFETY: the column has 16 rows; a prefetch may have any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(data.wrapping_add(AHEAD).cast());
            *vector = _mm512_loadu_ps(data);
        }
    }
    let mask = ((1u32 << COLUMNS) - 1) as __mmask16;
    let block = transpose(block);
    for (row, &vector) in block.iter().enumerate() {
        let to = to.wrapping_add(row * to_row);
        // SAFETY: the output has this row and its columns.
        unsafe {
            match COLUMNS {
                16 => _mm512_storeu_ps(to, vector),
                _ => _mm512_mask_storeu_ps(to, mask, vector),
            }
        }
    }
}

/// Copies rows of a matrix, the first `k` elements of each, to tiles one after the other: element `p` of all
/// rows of a tile, then element `p + 1`, each time [`ROWS`] numbers, of which those beyond the rows have no
/// meaning.
///
/// # Safety
///
/// The machine has AVX-512. The matrix has these rows, at most [`ROWS`] in a tile, and their elements; there
/// is room for `k * ROWS` numbers for each tile.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn pack_left(a: Matrix<f32>, k: usize, tiles: &[Range<usize>], to: *mut f32) {
    let tile = |number: usize| to.wrapping_add(number * k * ROWS);
    if a.row_stride == 1 {
        // Tile by tile, each element would come from another page.
        for p in 0..k {
            for (number, rows) in tiles.iter().enumerate() {
                let mask = ((1u32 << rows.len()) - 1) as __mmask16;
                let (from, far) = (a.from(rows.start, p).data, a.from(rows.start, p + 12).data);
                // SAFETY: the mask has as many lanes as there are rows; a prefetch may have any address; the
                // rest by the caller's promise.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(far.cast());
                    let vector = _mm512_maskz_loadu_ps(mask, from);
                    _mm512_mask_storeu_ps(tile(number).wrapping_add(p * ROWS), mask, vector);
                }
            }
        }
        return;
    }
    for (number, rows) in tiles.iter().enumerate() {
        let (to, columns) = (tile(number), a.from(rows.start, 0).transposed());
        if a.column_stride == 1 {
            // SAFETY: by the caller's promise.
            unsafe { blocks_avx512(columns, k, rows.len(), rows.len(), to, ROWS) };
            continue;
        }
        for p in 0..k {
            for i in 0..rows.len() {
                // SAFETY: by the caller's promise.
                unsafe { *to.wrapping_add(p * ROWS + i) = *columns.from(p, i).data };
            }
        }
    }
}

/// Rows that [`straighten`] copies at once.
const STRIP: usize = 64;

/// A copy of a matrix with contiguous columns in which rows are contiguous; `None` if they are already,
/// or where there is no fast way.
pub(super) fn straighten(x: &Tensor) -> Result<Option<Tensor>> {
    let (&[rows, columns], &[row_stride, column_stride]) = (x.dims(), x.strides()) else {
        return Ok(None);
    };
    #[cfg(target_arch = "x86_64")]
    if row_stride == 1 && column_stride != 1 && simd::level() == Level::Avx512 {
        let mut out = Tensor::empty(DType::F32, &[rows, columns])?;
        let to = Target(out.as_mut_slice::<f32>()?.as_mut_ptr());
        threads::run(rows.div_ceil(STRIP), |strip| {
            let (to, first) = (&to, strip * STRIP);
            for column in (0..columns).step_by(16) {
                let width = (columns - column).min(16);
                let from = Matrix::of(x, 0).from(first, column);
                let to = to.0.wrapping_add(first * columns + column);
                let height = (rows - first).min(STRIP);
                // SAFETY: the machine has the instructions. The block is within both matrices, and this
                // strip of the output is this task's.
                unsafe { blocks_avx512(from, height, width, width, to, columns) };
            }
        });
        return Ok(Some(out));
    }
    let _ = (rows, columns, row_stride, column_stride);
    Ok(None)
}

#[cfg(target_arch = "x86_64")]
struct Target(*mut f32);

// SAFETY: each task writes its own rows.
#[cfg(target_arch = "x86_64")]
unsafe impl Sync for Target {}

/// The transpose of a block of 16 x 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose(rows: [__m512; 16]) -> [__m512; 16] {
    // Pairs of rows, then quadruples: lane `l` of `four[4 * i + j]` has column `4 * l + j` of rows
    // `4 * i..4 * i + 4`.
    let mut four = [_mm512_setzero_ps(); 16];
    for i in 0..4 {
        let [a, b, c, d] = [rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]];
        let (ab_low, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        four[4 * i] = _mm512_shuffle_ps::<0x44>(ab_low, cd_low);
        four[4 * i + 1] = _mm512_shuffle_ps::<0xee>(ab_low, cd_low);
        four[4 * i + 2] = _mm512_shuffle_ps::<0x44>(ab_high, cd_high);
        four[4 * i + 3] = _mm512_shuffle_ps::<0xee>(ab_high, cd_high);
    }
    let mut out = [_mm512_setzero_ps(); 16];
    for j in 0..4 {
        let [a, b, c, d] = [four[j], four[4 + j], four[8 + j], four[12 + j]];
        let (ab_even, ab_odd) =
            (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
        let (cd_even, cd_odd) =
            (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
        out[j] = _mm512_shuffle_f32x4::<0x88>(ab_even, cd_even);
        out[8 + j] = _mm512_shuffle_f32x4::<0xdd>(ab_even, cd_even);
        out[4 + j] = _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd);
        out[12 + j] = _mm512_shuffle_f32x4::<0xdd>(ab_odd, cd_odd);
    }
    out
}
