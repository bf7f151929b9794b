//! The greatest of windows with AVX-512: sixteen windows at once, with what was found in registers.

use std::arch::x86_64::*;

use super::{Grid, Run};

/// The distance between the windows of two lanes, where it is one that has a fast way to load.
const ONE: usize = 1;
const TWO: usize = 2;
const ANY: usize = 0;

/// As [`Grid::greatest`]. Places must fit into `i32`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub(super) fn greatest(
    grid: &Grid<'_>,
    runs: &[Run],
    plane: &[f32],
    values: &mut [f32],
    places: &mut [i64],
) {
    assert!(plane.len() <= i32::MAX as usize);
    let [depths, heights, widths] = grid.windows;
    for (z, depth) in depths.iter().enumerate() {
        for (y, height) in heights.iter().enumerate() {
            for run in runs {
                let number = (z * heights.len() + y) * widths.len() + run.number;
                let values = &mut values[number..][..run.count];
                let places = &mut places[number..][..run.count];
                if depth.len * height.len * run.first.len == 0 {
                    values.fill(f32::NEG_INFINITY);
                    places.fill(-1);
                    continue;
                }
                let first = (depth.start * grid.sizes[1] + height.start) * grid.sizes[2];
                let taps = Taps {
                    first: first + run.first.start,
                    axes: [
                        (depth.len, depth.step * grid.sizes[1] * grid.sizes[2]),
                        (height.len, height.step * grid.sizes[2]),
                        (run.first.len, run.first.step),
                    ],
                };
                match run.stride {
                    ONE => of_run::<ONE>(plane, &taps, 1, values, places),
                    TWO => of_run::<TWO>(plane, &taps, 2, values, places),
                    stride => of_run::<ANY>(plane, &taps, stride, values, places),
                }
            }
        }
    }
}

/// Where the elements of a window are.
struct Taps {
    first: usize,
    /// How many there are on each axis, and at which distance in the plane.
    axes: [(usize, usize); 3],
}

/// The greatest elements of the windows that begin at equal distances.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn of_run<const STRIDE: usize>(
    plane: &[f32],
    taps: &Taps,
    stride: usize,
    values: &mut [f32],
    places: &mut [i64],
) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let apart = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(stride as i32));
    let [(depths, depth), (heights, height), (widths, width)] = taps.axes;
    for (block, (values, places)) in values.chunks_mut(16).zip(places.chunks_mut(16)).enumerate() {
        let count = values.len();
        let mask = if count < 16 { (1 << count) - 1 } else { u16::MAX };
        let first = taps.first + block * 16 * stride;
        let mut best = _mm512_set1_ps(f32::NEG_INFINITY);
        let mut place = _mm512_add_epi32(_mm512_set1_epi32(first as i32), apart);
        let from = place;
        for z in 0..depths {
            for y in 0..heights {
                for x in 0..widths {
                    let beyond = z * depth + y * height + x * width;
                    let line = &plane[first + beyond..][..(count - 1) * stride + 1];
                    let found = load::<STRIDE>(line, mask, apart);
                    let at = _mm512_add_epi32(from, _mm512_set1_epi32(beyond as i32));
                    let is_beyond = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(found, best)
                        | _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(found, found);
                    best = _mm512_mask_mov_ps(best, is_beyond, found);
                    place = _mm512_mask_mov_epi32(place, is_beyond, at);
                }
            }
        }
        let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(place));
        let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(place));
        // SAFETY: the masks have as many lanes as there are values and places.
        unsafe {
            _mm512_mask_storeu_ps(values.as_mut_ptr(), mask, best);
            _mm512_mask_storeu_epi64(places.as_mut_ptr(), mask as u8, low);
            let second = places.as_mut_ptr().wrapping_add(8);
            _mm512_mask_storeu_epi64(second, (mask >> 8) as u8, high);
        }
    }
}

/// Every element at the distance of a `line` that ends with the last one; lanes beyond it have no meaning.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn load<const STRIDE: usize>(line: &[f32], mask: u16, apart: __m512i) -> __m512 {
    match STRIDE {
        // SAFETY: the line has an element for each lane of the mask.
        ONE => unsafe { _mm512_maskz_loadu_ps(mask, line.as_ptr()) },
        TWO => {
            let len = line.len().min(31) as u32;
            let pairs = (1u32 << len) - 1;
            // SAFETY: the masks have as many lanes as the line has elements.
            let (low, high) = unsafe {
                (
                    _mm512_maskz_loadu_ps(pairs as u16, line.as_ptr()),
                    _mm512_maskz_loadu_ps((pairs >> 16) as u16, line.as_ptr().wrapping_add(16)),
                )
            };
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(low, even, high)
        }
        // SAFETY: the places of the lanes of the mask are in the line.
        _ => unsafe {
            _mm512_mask_i32gather_ps::<4>(_mm512_setzero_ps(), mask, apart, line.as_ptr())
        },
    }
}
