//! Convolutions in which each channel has a kernel of its own. Lanes are pixels of a row.
//!
//! A plane is copied with its padding; if the stride is above 1, each row is split by the remainder of the
//! column, so that the pixels under neighbouring windows are neighbours.

use std::arch::x86_64::*;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{copy, first};
use crate::conv::choose::WIDEST;
use crate::conv::parallel::{Shared, buffer, run, share};
use crate::lanes::{prefetch, prefetch_to_write};

/// Pixels of a plane that are worth a task.
const TASK_PIXELS: usize = 16_384;

/// A convolution of one channel to one in each group.
pub(super) fn depthwise(job: &Job, x: &[f32], weight: &[f32], out: &mut [f32]) -> Result<()> {
    let plane = Plane::new(job);
    let out = Shared::new(out);
    let n_planes = job.batch * job.groups;
    let pixels = job.count[0] * job.count[1];
    let n_tasks = n_planes.min((n_planes * pixels).div_ceil(TASK_PIXELS));
    run(n_tasks, |task| {
        let mut memory = buffer::<f32>(plane.len())?;
        let memory = memory.as_mut_slice::<f32>()?;
        memory.fill(0.0);
        for number in share(n_planes, n_tasks, task, 1) {
            let taps = plane.taps(weight, number % job.groups);
            // SAFETY: the machine has the instructions, and each task has its own planes.
            unsafe {
                plane.copy(&x[number * job.size[0] * job.size[1]..], memory);
                plane.convolve(memory, &taps, out.part(number * pixels, pixels));
            }
        }
        Ok(())
    })
}

/// The gradient of the weights of such a convolution.
pub(super) fn depthwise_weights(job: &Job, x: &[f32], y: &[f32], out: &mut [f32]) -> Result<()> {
    let plane = Plane::new(job);
    let taps = job.kernel[0] * job.kernel[1];
    let out = Shared::new(out);
    let pixels = job.count[0] * job.count[1];
    let n_tasks = job.groups.min((job.batch * job.groups * pixels).div_ceil(TASK_PIXELS));
    run(n_tasks, |task| {
        let mut memory = buffer::<f32>(plane.len() + taps * 16)?;
        let memory = memory.as_mut_slice::<f32>()?;
        memory.fill(0.0);
        let (sums, memory) = memory.split_at_mut(taps * 16);
        for group in share(job.groups, n_tasks, task, 1) {
            sums.fill(0.0);
            for image in 0..job.batch {
                let number = image * job.groups + group;
                // SAFETY: the machine has the instructions.
                unsafe {
                    plane.copy(&x[number * job.size[0] * job.size[1]..], memory);
                    plane.correlate(memory, &y[number * pixels..][..pixels], sums);
                }
            }
            // SAFETY: each task has its own groups.
            let out = unsafe { out.part(group * taps, taps) };
            for (out, lanes) in out.iter_mut().zip(sums.as_chunks::<16>().0) {
                *out = halves(lanes);
            }
        }
        Ok(())
    })
}

/// The sum of 16 numbers, in halves.
fn halves(lanes: &[f32; 16]) -> f32 {
    let mut lanes = *lanes;
    for n in [8, 4, 2, 1] {
        for i in 0..n {
            lanes[i] += lanes[i + n];
        }
    }
    lanes[0]
}

/// A padded plane: `[rows][phases][columns]`.
struct Plane {
    job: Job,
    rows: usize,
    /// The columns of a phase, with room for a whole vector behind the last.
    columns: usize,
    /// Where the pixels under each column of the kernel start in a row.
    starts: [usize; WIDEST],
}

impl Plane {
    fn new(job: &Job) -> Plane {
        let reach = |axis: usize| (job.kernel[axis] - 1) * job.dilation[axis];
        let columns = job.count[1] + reach(1) / job.stride + 32;
        let mut starts = [0; WIDEST];
        for (tap, start) in starts.iter_mut().enumerate() {
            let offset = tap * job.dilation[1];
            *start = offset % job.stride * columns + offset / job.stride;
        }
        Plane { job: *job, rows: (job.count[0] - 1) * job.stride + reach(0) + 1, columns, starts }
    }

    fn row_len(&self) -> usize {
        self.job.stride * self.columns
    }

    fn len(&self) -> usize {
        self.rows * self.row_len()
    }

    /// Copies a plane of the input. What is padding has been zero before.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn copy(&self, x: &[f32], to: &mut [f32]) {
        let ([height, width], [top, left]) = (self.job.size, self.job.before);
        let stride = self.job.stride;
        for row in top..self.rows.min(top + height) {
            let from = &x[(row - top) * width..][..width];
            // The same row of the next plane.
            for piece in from.chunks(16) {
                prefetch::<f32, 16>(piece.as_ptr(), height * width);
            }
            let to = &mut to[row * self.row_len()..][..self.row_len()];
            if stride == 1 {
                let n = width.min(self.columns - left);
                let (from, to) = (&from[..n], &mut to[left..left + n]);
                // SAFETY: both sides have `n` elements.
                unsafe { copy(from.as_ptr(), to.as_mut_ptr(), n) };
                continue;
            }
            for phase in 0..stride {
                // The first column of the input in this phase.
                let skip = (phase + stride - left % stride) % stride;
                let to = &mut to[phase * self.columns..][..self.columns];
                let to = to[(left + skip) / stride..].iter_mut();
                let from = from.iter().skip(skip).step_by(stride);
                to.zip(from).for_each(|(to, &from)| *to = from);
            }
        }
    }

    /// The weights of a group in the order of the kernel.
    fn taps(&self, weight: &[f32], group: usize) -> [f32; WIDEST * WIDEST] {
        let filter = self.job.filter;
        let start = (filter.origin + group * filter.group_step) as isize;
        let n_taps = self.job.kernel[0] * self.job.kernel[1];
        let mut taps = [0.0; WIDEST * WIDEST];
        for (number, tap) in taps.iter_mut().enumerate().take(n_taps) {
            *tap = weight[(start + number as isize * filter.tap_step) as usize];
        }
        taps
    }

    /// Writes a plane of the output.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn convolve(&self, x: &[f32], taps: &[f32], out: &mut [f32]) {
        match self.job.kernel {
            // SAFETY: the caller's promise.
            [3, 3] => unsafe { self.convolve_sized::<3>(x, taps, out) },
            // SAFETY: as above.
            [5, 5] => unsafe { self.convolve_sized::<5>(x, taps, out) },
            // SAFETY: as above.
            _ => unsafe { self.convolve_sized::<0>(x, taps, out) },
        }
    }

    /// Kernels of `K` by `K`, of any size if that is 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn convolve_sized<const K: usize>(&self, x: &[f32], taps: &[f32], out: &mut [f32]) {
        let job = &self.job;
        let [height, width] = job.count;
        let [kernel_rows, kernel_columns] = if K == 0 { job.kernel } else { [K, K] };
        let row_step = job.stride * self.row_len();
        let mut done = 0;
        if K == 3 && self.is_dense() {
            // SAFETY: the caller's promise.
            done = unsafe { self.convolve_fours(x, taps, out) };
        }
        for row in (done..height).step_by(2) {
            let two = row + 1 < height;
            // The second row is the first again where there is none.
            let second = if two { row_step } else { 0 };
            for column in (0..width).step_by(32) {
                let mut sums = [[_mm512_setzero_ps(); 2]; 2];
                // SAFETY: rows have room for 32 columns behind the last; masks keep the writes in the row.
                unsafe {
                    let from = x.as_ptr().add(row * row_step + column);
                    for i in 0..kernel_rows {
                        let from = from.add(i * job.dilation[0] * self.row_len());
                        for j in 0..kernel_columns {
                            let from = from.add(self.starts[j]);
                            let tap = _mm512_set1_ps(taps[i * kernel_columns + j]);
                            for (r, sums) in sums.iter_mut().enumerate() {
                                let from = if r == 0 { from } else { from.add(second) };
                                let (a, b) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
                                sums[0] = _mm512_fmadd_ps(tap, a, sums[0]);
                                sums[1] = _mm512_fmadd_ps(tap, b, sums[1]);
                            }
                        }
                    }
                    let n = width - column;
                    for (r, sums) in sums.iter().enumerate().take(1 + two as usize) {
                        let to = out.as_mut_ptr().add((row + r) * width + column);
                        prefetch_to_write::<f32, 32>(to, height * width);
                        _mm512_mask_storeu_ps(to, first(n), sums[0]);
                        let further = to.wrapping_add(16);
                        _mm512_mask_storeu_ps(further, first(n.saturating_sub(16)), sums[1]);
                    }
                }
            }
        }
    }

    /// Whether windows lie side by side, and their pixels too.
    fn is_dense(&self) -> bool {
        self.job.stride == 1 && self.job.dilation == [1; 2]
    }

    /// Kernels of 3 by 3 for dense windows, four rows at once: what is loaded of a row of the input is used
    /// for all rows of the output that need it. Returns how many rows were computed.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn convolve_fours(&self, x: &[f32], taps: &[f32], out: &mut [f32]) -> usize {
        let [height, width] = self.job.count;
        let done = height / 4 * 4;
        let mut factors = [[_mm512_setzero_ps(); 3]; 3];
        for (factor, &tap) in factors.as_flattened_mut().iter_mut().zip(taps) {
            *factor = _mm512_set1_ps(tap);
        }
        for row in (0..done).step_by(4) {
            for column in (0..width).step_by(32) {
                let mut sums = [[_mm512_setzero_ps(); 2]; 4];
                let from = x.as_ptr().wrapping_add(row * self.row_len() + column);
                // Written out, so that the compiler knows which tap meets which row.
                macro_rules! input_row {
                    ($($number:literal)*) => {$(
                        for j in 0..3 {
                            let from = from.wrapping_add($number * self.row_len() + j);
                            // SAFETY: rows have room for 32 columns behind the last.
                            let (a, b) = unsafe {
                                (_mm512_loadu_ps(from), _mm512_loadu_ps(from.wrapping_add(16)))
                            };
                            for r in 0..4 {
                                if $number >= r && $number - r < 3 {
                                    let factor = factors[$number - r][j];
                                    sums[r][0] = _mm512_fmadd_ps(factor, a, sums[r][0]);
                                    sums[r][1] = _mm512_fmadd_ps(factor, b, sums[r][1]);
                                }
                            }
                        }
                    )*};
                }
                input_row!(0 1 2 3 4 5);
                let n = width - column;
                for (r, sums) in sums.iter().enumerate() {
                    let to = out.as_mut_ptr().wrapping_add((row + r) * width + column);
                    prefetch_to_write::<f32, 32>(to, height * width);
                    // SAFETY: masks keep the writes in the row.
                    unsafe {
                        _mm512_mask_storeu_ps(to, first(n), sums[0]);
                        let further = to.wrapping_add(16);
                        _mm512_mask_storeu_ps(further, first(n.saturating_sub(16)), sums[1]);
                    }
                }
            }
        }
        done
    }

    /// [`Plane::correlate`] for kernels of 3 by 3 and dense windows of at least three rows: each row of the
    /// input is loaded once and meets the three rows of `y` that it belongs to.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn correlate_threes(&self, x: &[f32], y: &[f32], sums: &mut [f32]) {
        let [height, width] = self.job.count;
        let mut totals = [[_mm512_setzero_ps(); 3]; 3];
        for column in (0..width).step_by(16) {
            let mask = first(width - column);
            let of_y = |row: usize| {
                // SAFETY: the mask keeps the reads in the row, which is one of `y`.
                unsafe { _mm512_maskz_loadu_ps(mask, y.as_ptr().add(row * width + column)) }
            };
            // Adds the products of a row of the input and the rows of `y` given with their row of taps.
            macro_rules! input_row {
                ($row:expr, $(($r:literal, $y:expr))*) => {
                    for j in 0..3 {
                        let from = x.as_ptr().wrapping_add($row * self.row_len() + column + j);
                        // SAFETY: rows have room for 16 columns behind the last.
                        let of_x = unsafe { _mm512_loadu_ps(from) };
                        $(totals[$r][j] = _mm512_fmadd_ps($y, of_x, totals[$r][j]);)*
                    }
                };
            }
            let (mut before, mut now) = (of_y(0), of_y(1));
            input_row!(0, (0, before));
            input_row!(1, (0, now)(1, before));
            for row in 2..height {
                let next = of_y(row);
                input_row!(row, (0, next)(1, now)(2, before));
                (before, now) = (now, next);
            }
            input_row!(height, (1, now)(2, before));
            input_row!(height + 1, (2, now));
        }
        for (total, to) in totals.as_flattened().iter().zip(sums.as_chunks_mut::<16>().0) {
            // SAFETY: there are 16 sums for each tap.
            unsafe {
                let sum = _mm512_add_ps(_mm512_loadu_ps(to.as_ptr()), *total);
                _mm512_storeu_ps(to.as_mut_ptr(), sum);
            }
        }
    }

    /// Adds the products of a plane of the input and one of the output, 16 sums for each tap.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn correlate(&self, x: &[f32], y: &[f32], sums: &mut [f32]) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.job.kernel {
                [3, 3] if self.is_dense() && self.job.count[0] >= 3 => {
                    self.correlate_threes(x, y, sums);
                }
                [3, 3] => self.correlate_sized::<3, 3>(x, y, sums),
                [_, 3] => self.correlate_sized::<1, 3>(x, y, sums),
                [_, 5] => self.correlate_sized::<1, 5>(x, y, sums),
                [_, 7] => self.correlate_sized::<1, 7>(x, y, sums),
                _ => self.correlate_sized::<1, 1>(x, y, sums),
            }
        }
    }

    /// Works on `R` rows and `C` columns of the kernel at once; they divide it.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn correlate_sized<const R: usize, const C: usize>(
        &self,
        x: &[f32],
        y: &[f32],
        sums: &mut [f32],
    ) {
        let job = &self.job;
        let [height, width] = job.count;
        for taps in 0..job.kernel[0] / R * (job.kernel[1] / C) {
            let (i, j) = (taps / (job.kernel[1] / C) * R, taps % (job.kernel[1] / C) * C);
            let mut totals = [[_mm512_setzero_ps(); C]; R];
            // SAFETY: rows have room for 16 columns behind the last, and masks keep the reads of `y` in it;
            // there are 16 sums for each tap.
            unsafe {
                for row in 0..height {
                    let from =
                        x.as_ptr().add((row * job.stride + i * job.dilation[0]) * self.row_len());
                    for column in (0..width).step_by(16) {
                        let of_y = y.as_ptr().add(row * width + column);
                        let of_y = _mm512_maskz_loadu_ps(first(width - column), of_y);
                        for (r, totals) in totals.iter_mut().enumerate() {
                            let from = from.add(r * job.dilation[0] * self.row_len() + column);
                            for (c, total) in totals.iter_mut().enumerate() {
                                let of_x = _mm512_loadu_ps(from.add(self.starts[j + c]));
                                *total = _mm512_fmadd_ps(of_y, of_x, *total);
                            }
                        }
                    }
                }
                for (r, totals) in totals.iter().enumerate() {
                    for (c, &total) in totals.iter().enumerate() {
                        let to = (i + r) * job.kernel[1] + j + c;
                        let to = sums.as_mut_ptr().add(16 * to);
                        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), total));
                    }
                }
            }
        }
    }
}
