//! The convolution by its definition: lanes are 32 output channels, and up to 14 pixels of a row are
//! summed in registers at once.
//!
//! A task copies the rows it needs, with their padding, so that no pixel is a special case; weights are
//! packed by 32 output channels. Sums are kept in chains of bounded length.

use std::arch::x86_64::*;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{copy, first, transpose};
use crate::conv::parallel::{Shared, buffer, run, share};

/// Output channels of a tile: two vectors.
pub(super) const LANES: usize = 32;

/// The most pixels of a tile.
pub(super) const PIXELS: usize = 14;

/// The most elements of the rows that a task copies: a part of the second cache.
const BAND: usize = 75_000;

/// Products of one chain of sums, which bounds the rounding error.
const CHAIN: usize = 288;

/// The number of tasks to aim at.
const ENOUGH_TASKS: usize = 8;

/// A convolution with a stride of 1 or 2, of any dilation.
pub(super) fn direct(job: &Job, x: &[f32], weight: &[f32], out: &mut [f32]) -> Result<()> {
    let plan = Plan::new(job);
    let out = Shared::new(out);
    let mut packed = buffer::<f32>(job.groups * plan.blocks * plan.block_len)?;
    let packed = Shared::new(packed.as_mut_slice::<f32>()?);
    run(job.groups * plan.blocks, |task| {
        // SAFETY: the machine has the instructions; each task packs its own block.
        unsafe {
            let to = packed.part(task * plan.block_len, plan.block_len);
            plan.pack(weight, task / plan.blocks, task % plan.blocks, to);
        }
        Ok(())
    })?;
    run(job.batch * job.groups * plan.bands * plan.parts, |task| {
        let (part, rest) = (task % plan.parts, task / plan.parts);
        let (band, image) = (rest % plan.bands, rest / plan.bands);
        let rows = share(job.count[0], plan.bands, band, 1);
        let mut memory = buffer::<f32>(plan.band_len(rows.len()))?;
        let memory = memory.as_mut_slice::<f32>()?;
        let group = image % job.groups;
        // SAFETY: the machine has the instructions; each task writes the rows of its own image and its
        // own output channels.
        unsafe {
            plan.copy_band(x, image, rows.clone(), memory);
            for block in share(plan.blocks, plan.parts, part, 1) {
                let number = group * plan.blocks + block;
                let weights = packed.as_ptr().add(number * plan.block_len);
                plan.sweep(memory, weights, image, block, rows.clone(), out.as_ptr());
            }
        }
        Ok(())
    })
}

/// Sizes of the steps.
struct Plan {
    job: Job,
    taps: usize,
    /// Blocks of 32 output channels, and the elements of the weights of one: `[into][taps][32]`.
    blocks: usize,
    block_len: usize,
    /// Bands of rows and parts of the blocks that are tasks of their own.
    bands: usize,
    parts: usize,
    /// The pixels and rows of a tile.
    pixels: usize,
    tile_rows: usize,
    /// Columns of a band, with padding.
    width: usize,
}

impl Plan {
    fn new(job: &Job) -> Plan {
        let taps = job.kernel[0] * job.kernel[1];
        let blocks = job.out.div_ceil(LANES);
        let [height, columns] = job.count;
        let (pixels, tile_rows) = match columns {
            0..=7 => (7, 2),
            _ => (columns.div_ceil(columns.div_ceil(PIXELS)), 1),
        };
        let n_columns = columns.max(pixels);
        let width = (n_columns - 1) * job.stride + (job.kernel[1] - 1) * job.dilation[1] + 1;
        let mut plan = Plan {
            job: *job,
            taps,
            blocks,
            block_len: job.into * taps * LANES,
            bands: 1,
            parts: 1,
            pixels,
            tile_rows,
            width,
        };
        let images = job.batch * job.groups;
        let wanted = ENOUGH_TASKS.div_ceil(images).min(height.div_ceil(4));
        while plan.bands < height
            && (plan.bands < wanted || plan.band_len(height.div_ceil(plan.bands)) > BAND)
        {
            plan.bands += 1;
        }
        plan.parts = ENOUGH_TASKS.div_ceil(images * plan.bands).min(blocks);
        plan
    }

    /// The rows of the input under so many rows of the output.
    fn band_rows(&self, rows: usize) -> usize {
        let rows = rows.next_multiple_of(self.tile_rows);
        (rows - 1) * self.job.stride + (self.job.kernel[0] - 1) * self.job.dilation[0] + 1
    }

    fn band_len(&self, rows: usize) -> usize {
        self.job.into * self.band_rows(rows) * self.width
    }

    /// Writes the weights of a block of output channels: `[into][taps][32]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn pack(&self, weight: &[f32], group: usize, block: usize, to: &mut [f32]) {
        let filter = self.job.filter;
        let mut places = [0i32; 16];
        for (lane, place) in places.iter_mut().enumerate() {
            *place = (lane * filter.out_step) as i32;
        }
        let n_out = (self.job.out - block * LANES).min(LANES);
        let (low, high) = (first(n_out), first(n_out.saturating_sub(16)));
        let start = filter.origin + group * filter.group_step + block * LANES * filter.out_step;
        let mut to = to.as_mut_ptr();
        // SAFETY: masked lanes are not read, and the others are weights of existing channels.
        unsafe {
            let places = _mm512_loadu_si512(places.as_ptr().cast());
            for channel in 0..self.job.into {
                for tap in 0..self.taps {
                    let from = weight.as_ptr().add(start + channel * filter.into_step);
                    let from = from.offset(tap as isize * filter.tap_step);
                    let further = from.wrapping_add(16 * filter.out_step);
                    let zero = _mm512_setzero_ps();
                    let a = _mm512_mask_i32gather_ps::<4>(zero, low, places, from.cast());
                    let b = _mm512_mask_i32gather_ps::<4>(zero, high, places, further.cast());
                    _mm512_storeu_ps(to, a);
                    _mm512_storeu_ps(to.add(16), b);
                    to = to.add(LANES);
                }
            }
        }
    }

    /// Copies the rows of the input under these rows of the output, with padding: `[into][rows][width]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn copy_band(
        &self,
        x: &[f32],
        image: usize,
        rows: std::ops::Range<usize>,
        band: &mut [f32],
    ) {
        let job = &self.job;
        let [height, width] = job.size;
        let left = job.before[1].min(self.width);
        let inside = width.min(self.width - left);
        let n_rows = self.band_rows(rows.len());
        for channel in 0..job.into {
            for row in 0..n_rows {
                let to = &mut band[(channel * n_rows + row) * self.width..][..self.width];
                let from = (rows.start * job.stride + row).checked_sub(job.before[0]);
                let Some(from) = from.filter(|&from| from < height) else {
                    to.fill(0.0);
                    continue;
                };
                let from = &x[((image * job.into + channel) * height + from) * width..][..inside];
                to[..left].fill(0.0);
                // SAFETY: both sides have `inside` elements.
                unsafe { copy(from.as_ptr(), to[left..].as_mut_ptr(), inside) };
                to[left + inside..].fill(0.0);
            }
        }
    }

    /// Computes these rows of 32 output channels.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn sweep(
        &self,
        band: &[f32],
        weights: *const f32,
        image: usize,
        block: usize,
        rows: std::ops::Range<usize>,
        out: *mut f32,
    ) {
        let job = &self.job;
        let [height, columns] = job.count;
        let n_rows = self.band_rows(rows.len());
        let chunk = (CHAIN / self.taps).max(1);
        let n_out = (job.out - block * LANES).min(LANES);
        let mut sums = Sums([[0.0; LANES]; PIXELS]);
        for row in rows.clone().step_by(self.tile_rows) {
            for at in (0..columns).step_by(self.pixels) {
                // The last tile of a row overlaps the one before.
                let column = at.min(columns.saturating_sub(self.pixels));
                let origin = (row - rows.start) * job.stride * self.width + column * job.stride;
                for channel in (0..job.into).step_by(chunk) {
                    // SAFETY: the band has all pixels under the tile; the output has all that are stored.
                    unsafe {
                        let terms = Terms {
                            x: band.as_ptr().add(channel * n_rows * self.width + origin),
                            weights: weights.add(channel * self.taps * LANES),
                            channels: chunk.min(job.into - channel),
                            channel_step: n_rows * self.width,
                            kernel: job.kernel,
                            row_step: job.dilation[0] * self.width,
                            column_step: job.dilation[1],
                            second_row: job.stride * self.width,
                            add: channel > 0,
                        };
                        accumulate(self.tile_rows, self.pixels, job.stride, &terms, &mut sums);
                    }
                }
                for tile_row in 0..self.tile_rows.min(rows.end - row) {
                    let n = self.pixels.min(columns - column);
                    let start = (image * job.out + block * LANES) * height + row + tile_row;
                    // SAFETY: `n` pixels of the row are in the output, of `n_out` channels.
                    unsafe {
                        let to = out.add(start * columns + column);
                        store(&sums, tile_row * self.pixels, n, n_out, to, height * columns);
                    }
                }
            }
        }
    }
}

/// The sums of a tile: pixels by output channels.
#[repr(align(64))]
pub(super) struct Sums(pub(super) [[f32; LANES]; PIXELS]);

/// What is summed for a tile; steps are in elements.
pub(super) struct Terms {
    pub(super) x: *const f32,
    pub(super) weights: *const f32,
    pub(super) channels: usize,
    pub(super) channel_step: usize,
    pub(super) kernel: [usize; 2],
    pub(super) row_step: usize,
    pub(super) column_step: usize,
    /// From one row of the tile to the next.
    pub(super) second_row: usize,
    /// Whether to add to what is there.
    pub(super) add: bool,
}

/// Calls the kernel compiled for these numbers of rows, pixels and stride.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn accumulate(
    rows: usize,
    pixels: usize,
    stride: usize,
    terms: &Terms,
    sums: &mut Sums,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match (rows, pixels, stride) {
            (3, 3, _) => tile::<3, 3, 1>(terms, sums),
            (2, 4, _) => tile::<2, 4, 1>(terms, sums),
            (2, 5, _) => tile::<2, 5, 1>(terms, sums),
            (2, _, 1) => tile::<2, 7, 1>(terms, sums),
            (2, _, _) => tile::<2, 7, 2>(terms, sums),
            (_, 8, 1) => tile::<1, 8, 1>(terms, sums),
            (_, 9, 1) => tile::<1, 9, 1>(terms, sums),
            (_, 10, 1) => tile::<1, 10, 1>(terms, sums),
            (_, 11, 1) => tile::<1, 11, 1>(terms, sums),
            (_, 12, 1) => tile::<1, 12, 1>(terms, sums),
            (_, 13, 1) => tile::<1, 13, 1>(terms, sums),
            (_, _, 1) => tile::<1, 14, 1>(terms, sums),
            (_, 8, _) => tile::<1, 8, 2>(terms, sums),
            (_, 9, _) => tile::<1, 9, 2>(terms, sums),
            (_, 10, _) => tile::<1, 10, 2>(terms, sums),
            (_, 11, _) => tile::<1, 11, 2>(terms, sums),
            (_, 12, _) => tile::<1, 12, 2>(terms, sums),
            (_, 13, _) => tile::<1, 13, 2>(terms, sums),
            _ => tile::<1, 14, 2>(terms, sums),
        }
    }
}

/// The sums of a tile of `R` rows of `P` pixels. Nothing else is in this function, so that all sums stay
/// in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn tile<const R: usize, const P: usize, const S: usize>(terms: &Terms, out: &mut Sums) {
    let mut sums = [[[_mm512_setzero_ps(); 2]; P]; R];
    let mut weights = terms.weights;
    // SAFETY: the caller vouches for the pixels and the weights of all terms.
    unsafe {
        for channel in 0..terms.channels {
            for row in 0..terms.kernel[0] {
                let mut x = terms.x.add(channel * terms.channel_step + row * terms.row_step);
                for _ in 0..terms.kernel[1] {
                    let low = _mm512_loadu_ps(weights);
                    let high = _mm512_loadu_ps(weights.add(16));
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let x = x.wrapping_add(row * terms.second_row);
                        for (pixel, sums) in sums.iter_mut().enumerate() {
                            let value = _mm512_set1_ps(*x.add(pixel * S));
                            sums[0] = _mm512_fmadd_ps(value, low, sums[0]);
                            sums[1] = _mm512_fmadd_ps(value, high, sums[1]);
                        }
                    }
                    weights = weights.add(LANES);
                    x = x.wrapping_add(terms.column_step);
                }
            }
        }
        for (number, sums) in sums.as_flattened().iter().enumerate() {
            let to = out.0[number].as_mut_ptr();
            for (half, &sum) in sums.iter().enumerate() {
                let to = to.add(16 * half);
                let before = if terms.add { _mm512_loadu_ps(to) } else { _mm512_setzero_ps() };
                _mm512_storeu_ps(to, _mm512_add_ps(before, sum));
            }
        }
    }
}

/// Stores `n` pixels of a row of the tile, from this pixel on, for each of `n_out` output channels.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn store(
    sums: &Sums,
    pixel: usize,
    n: usize,
    n_out: usize,
    to: *mut f32,
    channel_step: usize,
) {
    let mask = first(n);
    for half in 0..n_out.div_ceil(16) {
        let mut rows = [_mm512_setzero_ps(); 16];
        // SAFETY: the tile has `pixel + n` pixels; the caller vouches for the output.
        unsafe {
            for (row, sums) in rows.iter_mut().zip(&sums.0[pixel..pixel + n]) {
                *row = _mm512_loadu_ps(sums.as_ptr().add(16 * half));
            }
            let columns = transpose(rows);
            for (lane, &column) in columns.iter().enumerate().take(n_out - 16 * half) {
                let channel = 16 * half + lane;
                _mm512_mask_storeu_ps(to.add(channel * channel_step), mask, column);
            }
        }
    }
}
