//! The gradient of the weights by its definition: lanes are 32 output channels, and up to 14 weights of a
//! kernel are summed in registers over the pixels of a band.
//!
//! This is the kernel of `direct` with other roles: the pixels of the output are what is summed over, and
//! the elements of the kernel are the pixels.

use std::arch::x86_64::*;
use std::ops::Range;

use fluvial_tensor::Result;

use super::Job;
use super::direct::{LANES, PIXELS, Sums, Terms, accumulate};
use super::lanes::{copy, first, transpose};
use crate::conv::parallel::{Shared, buffer, run, share};

/// Pixels of a band: its 32 channels fill half of the first cache.
const BAND: usize = 192;

/// Runs of images that are summed apart.
const RUNS: usize = 8;

/// The gradient of the weights of `job` whose kernel has a width of 3, 4, 5 or 7 and is dense in a row.
pub(super) fn direct_weights(job: &Job, x: &[f32], y: &[f32], out: &mut [f32]) -> Result<()> {
    let plan = Plan::new(job);
    let mut sums = buffer::<f32>(job.groups * plan.runs * plan.sums_len())?;
    let sums = Shared::new(sums.as_mut_slice::<f32>()?);
    run(job.groups * plan.runs, |task| {
        let (group, images) = (task / plan.runs, share(job.batch, plan.runs, task % plan.runs, 1));
        let mut memory = buffer::<f32>(plan.x_len() + plan.y_len())?;
        let (of_x, of_y) = memory.as_mut_slice::<f32>()?.split_at_mut(plan.x_len());
        // SAFETY: the machine has the instructions; each task has its own sums.
        unsafe {
            let sums = sums.part(task * plan.sums_len(), plan.sums_len());
            sums.fill(0.0);
            for image in images {
                let number = image * job.groups + group;
                for row in (0..job.count[0]).step_by(plan.rows) {
                    let rows = row..job.count[0].min(row + plan.rows);
                    plan.add_band(x, y, number, rows, of_x, of_y, sums);
                }
            }
        }
        Ok(())
    })?;
    let out = Shared::new(out);
    let taps = job.kernel[0] * job.kernel[1];
    run(job.groups * plan.blocks, |task| {
        let (group, block) = (task / plan.blocks, task % plan.blocks);
        let n_out = (job.out - block * LANES).min(LANES);
        let len = job.into * taps;
        // SAFETY: sums are complete and only read; each task has its own output channels.
        let (sums, out) = unsafe {
            let start = group * plan.runs * plan.sums_len();
            let channels = (group * job.out + block * LANES) * len;
            (sums.as_ptr().add(start + block * len * LANES), out.part(channels, n_out * len))
        };
        for lane in 0..n_out {
            for weight in 0..len {
                let mut total = 0.0;
                for run in 0..plan.runs {
                    // SAFETY: within the sums of this group.
                    total += unsafe { *sums.add(run * plan.sums_len() + weight * LANES + lane) };
                }
                out[lane * len + weight] = total;
            }
        }
        Ok(())
    })
}

/// Sizes of the steps.
struct Plan {
    job: Job,
    /// Blocks of 32 output channels.
    blocks: usize,
    runs: usize,
    /// Rows of the output in a band.
    rows: usize,
    /// Columns of the input under a row, with padding.
    width: usize,
    tap_rows: usize,
}

impl Plan {
    fn new(job: &Job) -> Plan {
        Plan {
            job: *job,
            blocks: job.out.div_ceil(LANES),
            runs: job.batch.min(RUNS.div_ceil(job.groups)),
            rows: (BAND / job.count[1]).clamp(1, job.count[0]),
            width: (job.count[1] - 1) * job.stride + (job.kernel[1] - 1) * job.dilation[1] + 1,
            tap_rows: if job.kernel[1] == 3 { 3 } else { 2 },
        }
    }

    /// The sums of a group: `[blocks][into][taps][32]`.
    fn sums_len(&self) -> usize {
        self.blocks * self.job.into * self.job.kernel[0] * self.job.kernel[1] * LANES
    }

    /// Rows of the input under a band, with those of a kernel that is longer than it is.
    fn band_rows(&self, rows: usize) -> usize {
        let kernel_rows = self.job.kernel[0].next_multiple_of(self.tap_rows);
        (rows - 1) * self.job.stride + (kernel_rows - 1) * self.job.dilation[0] + 1
    }

    fn x_len(&self) -> usize {
        self.job.into * self.band_rows(self.rows) * self.width
    }

    fn y_len(&self) -> usize {
        self.rows * self.job.count[1] * LANES
    }

    /// Adds what these rows of an image contribute.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[allow(clippy::too_many_arguments)]
    unsafe fn add_band(
        &self,
        x: &[f32],
        y: &[f32],
        image: usize,
        rows: Range<usize>,
        of_x: &mut [f32],
        of_y: &mut [f32],
        sums: &mut [f32],
    ) {
        let job = &self.job;
        let [kernel_rows, kernel_columns] = job.kernel;
        let taps = kernel_rows * kernel_columns;
        let n_rows = self.band_rows(rows.len());
        let mut tile = Sums([[0.0; LANES]; PIXELS]);
        // SAFETY: memory has the rows of a band; the caller vouches for the rest.
        unsafe {
            self.copy_band(x, image, rows.clone(), of_x);
            for block in 0..self.blocks {
                self.turn(y, image, block, rows.clone(), of_y);
                for channel in 0..job.into {
                    for row in (0..kernel_rows).step_by(self.tap_rows) {
                        let start = channel * n_rows + row * job.dilation[0];
                        let terms = Terms {
                            x: of_x.as_ptr().add(start * self.width),
                            weights: of_y.as_ptr(),
                            channels: 1,
                            channel_step: 0,
                            kernel: [rows.len(), job.count[1]],
                            row_step: job.stride * self.width,
                            column_step: job.stride,
                            second_row: job.dilation[0] * self.width,
                            add: false,
                        };
                        accumulate(self.tap_rows, kernel_columns, 1, &terms, &mut tile);
                        let n = self.tap_rows.min(kernel_rows - row) * kernel_columns;
                        let at = (block * job.into + channel) * taps + row * kernel_columns;
                        let to = &mut sums[at * LANES..][..n * LANES];
                        for (to, &sum) in to.iter_mut().zip(tile.0.as_flattened()) {
                            *to += sum;
                        }
                    }
                }
            }
        }
    }

    /// Copies the rows of the input under these rows of the output, with padding: `[into][rows][width]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn copy_band(&self, x: &[f32], image: usize, rows: Range<usize>, to: &mut [f32]) {
        let job = &self.job;
        let [height, width] = job.size;
        let left = job.before[1].min(self.width);
        let inside = width.min(self.width - left);
        let n_rows = self.band_rows(rows.len());
        for (line, to) in to.chunks_exact_mut(self.width).enumerate().take(job.into * n_rows) {
            let (channel, row) = (line / n_rows, line % n_rows);
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

    /// Writes rows of 32 channels of the output: `[pixels][32]`, zeros for channels that do not exist.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn turn(
        &self,
        y: &[f32],
        image: usize,
        block: usize,
        rows: Range<usize>,
        to: &mut [f32],
    ) {
        let [height, width] = self.job.count;
        let pixels = rows.len() * width;
        let step = height * width;
        for half in 0..2 {
            let start = block * LANES + 16 * half;
            let n_out = self.job.out.saturating_sub(start).min(16);
            for at in (0..pixels).step_by(16) {
                let n = (pixels - at).min(16);
                let mut lines = [_mm512_setzero_ps(); 16];
                // SAFETY: masks keep the reads in the rows of existing channels, and `to` has all pixels.
                unsafe {
                    for (channel, line) in lines.iter_mut().enumerate().take(n_out) {
                        let from = (image * self.job.out + start + channel) * step;
                        let from = y.as_ptr().add(from + rows.start * width + at);
                        *line = _mm512_maskz_loadu_ps(first(n), from);
                    }
                    let columns = transpose(lines);
                    for (pixel, &column) in columns.iter().enumerate().take(n) {
                        let to = to.as_mut_ptr().add((at + pixel) * LANES + 16 * half);
                        _mm512_storeu_ps(to, column);
                    }
                }
            }
        }
    }
}
