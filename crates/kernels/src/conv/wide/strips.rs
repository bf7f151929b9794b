//! Convolutions with few terms per sum, 1 x 1 kernels among them, as products of matrices: the windows of
//! up to 192 neighbouring pixels become columns that stay in the second cache.

use std::arch::x86_64::*;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{Soon, Tile, copy, first, product};
use crate::conv::parallel::{Shared, buffer, run, share};

/// Pixels of a panel: three vectors.
const PANEL: usize = 48;

/// The most panels of a strip, and the elements they should stay below: a part of the second cache.
const PANELS: usize = 4;
const STRIP_LEN: usize = 65_536;

/// Terms of one chain of sums, which bounds the rounding error.
const CHAIN: usize = 128;

/// Multiplications that are worth a task.
const TASK_WORK: usize = 1 << 18;

/// The most tasks.
const MOST_TASKS: usize = 64;

/// A convolution with a stride of 1.
pub(super) fn strips(job: &Job, x: &[f32], weight: &[f32], out: &mut [f32]) -> Result<()> {
    let out = Shared::new(out);
    let taps = job.kernel[0] * job.kernel[1];
    let (terms, eights) = (job.into * taps, job.out.div_ceil(8));
    let mut packed = buffer::<f32>(job.groups * eights * terms * 8)?;
    let packed = packed.as_mut_slice::<f32>()?;
    let shared = Shared::new(packed);
    run(job.groups * eights, |number| {
        // SAFETY: each task has its own eight channels.
        let to = unsafe { shared.part(number * terms * 8, terms * 8) };
        pack(job, weight, number / eights, number % eights, to);
        Ok(())
    })?;
    let packed: &[f32] = packed;
    let pixels = job.count[0] * job.count[1];
    let panels = (STRIP_LEN / (terms * PANEL)).clamp(1, PANELS);
    let strip_len = panels * PANEL;
    let per_image = pixels.div_ceil(strip_len);
    let n_strips = job.batch * job.groups * per_image;
    let work = job.batch * job.groups * pixels * terms * job.out;
    let n_tasks = n_strips.min(MOST_TASKS).min(work.div_ceil(TASK_WORK));
    run(n_tasks, |task| {
        let mut memory = buffer::<f32>(terms * strip_len + 8 * PANEL)?;
        let memory = memory.as_mut_slice::<f32>()?;
        let (columns, tile) = memory.split_at_mut(terms * strip_len);
        for strip in share(n_strips, n_tasks, task, 1) {
            let (image, at) = (strip / per_image, strip % per_image * strip_len);
            let n = strip_len.min(pixels - at);
            let weights = &packed[image % job.groups * eights * terms * 8..][..eights * terms * 8];
            let x = &x[image * job.into * job.size[0] * job.size[1]..];
            // SAFETY: the machine has the instructions; each strip has its own outputs.
            unsafe {
                match is_pointwise(job) {
                    true => copy_pixels(job, x, at, n, columns),
                    false => {
                        for (panel, columns) in columns.chunks_exact_mut(terms * PANEL).enumerate()
                        {
                            let from = panel * PANEL;
                            unfold(job, x, at + from, PANEL.min(n.saturating_sub(from)), columns);
                        }
                    }
                }
                let soon = Soon {
                    data: x.as_ptr().wrapping_add(at + n),
                    step: pixels,
                    len: if is_pointwise(job) { strip_len.min(pixels - at - n) } else { 0 },
                    rows: job.into,
                };
                for eight in 0..eights {
                    for (panel, columns) in columns.chunks_exact(terms * PANEL).enumerate() {
                        let from = panel * PANEL;
                        if from >= n {
                            break;
                        }
                        soon.fetch(eights * panels, eight * panels + panel);
                        let to = out.as_ptr().add(image * job.out * pixels + at + from);
                        let n = PANEL.min(n - from);
                        multiply(job, eight, weights, columns, n, tile, to, pixels);
                    }
                }
            }
        }
        Ok(())
    })
}

/// Packs the weights of eight output channels: `[terms][8]`, with zeros for channels that do not exist.
fn pack(job: &Job, weight: &[f32], group: usize, eight: usize, to: &mut [f32]) {
    let filter = job.filter;
    let taps = job.kernel[0] * job.kernel[1];
    let start = filter.origin + group * filter.group_step + eight * 8 * filter.out_step;
    let n_out = (job.out - eight * 8).min(8);
    to.fill(0.0);
    for (number, to) in to.chunks_exact_mut(8 * taps).enumerate() {
        for (tap, to) in to.chunks_exact_mut(8).enumerate() {
            let at = start + number * filter.into_step;
            let at = (at as isize + tap as isize * filter.tap_step) as usize;
            for (lane, to) in to.iter_mut().enumerate().take(n_out) {
                *to = weight[at + lane * filter.out_step];
            }
        }
    }
}

/// Whether the windows of a pixel are the pixel.
fn is_pointwise(job: &Job) -> bool {
    job.kernel == [1, 1] && job.before == [0, 0] && job.size == job.count
}

/// Writes `n` pixels from `at` on, by panels: `[into][lanes]`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn copy_pixels(job: &Job, x: &[f32], at: usize, n: usize, columns: &mut [f32]) {
    let pixels = job.size[0] * job.size[1];
    for channel in 0..job.into {
        let from = &x[channel * pixels + at..][..n];
        for (panel, from) in from.chunks(PANEL).enumerate() {
            let lanes = from.len().next_multiple_of(16);
            let to = &mut columns[panel * job.into * PANEL + channel * lanes..][..from.len()];
            // SAFETY: both sides have this length.
            unsafe { copy(from.as_ptr(), to.as_mut_ptr(), from.len()) };
        }
    }
}

/// Writes the windows of `n` pixels from `at` on: `[terms][lanes]`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn unfold(job: &Job, x: &[f32], at: usize, n: usize, columns: &mut [f32]) {
    let ([height, width], [_, out_width]) = (job.size, job.count);
    let lanes = n.next_multiple_of(16);
    let mut to = columns;
    for channel in 0..job.into {
        let plane = &x[channel * height * width..][..height * width];
        for tap in 0..job.kernel[0] * job.kernel[1] {
            let (i, j) = (tap / job.kernel[1], tap % job.kernel[1]);
            let (term, rest) = to.split_at_mut(lanes);
            to = rest;
            let mut pixel = at;
            while pixel < at + n {
                let (row, column) = (pixel / out_width, pixel % out_width);
                let len = (out_width - column).min(at + n - pixel);
                let run = &mut term[pixel - at..][..len];
                pixel += len;
                let line = (row + i * job.dilation[0]).checked_sub(job.before[0]);
                let Some(line) = line.filter(|&line| line < height) else {
                    run.fill(0.0);
                    continue;
                };
                // Columns of the run that lie in the row: from `skip` on, up to `end`.
                let offset = column + j * job.dilation[1];
                let skip = job.before[1].saturating_sub(offset).min(len);
                let end = (width + job.before[1]).saturating_sub(offset).clamp(skip, len);
                run[..skip].fill(0.0);
                run[end..].fill(0.0);
                if skip < end {
                    let start = line * width + offset + skip - job.before[1];
                    let from = &plane[start..][..end - skip];
                    // SAFETY: both sides have this length.
                    unsafe { copy(from.as_ptr(), run[skip..].as_mut_ptr(), end - skip) };
                }
            }
        }
    }
}

/// Multiplies the weights of eight output channels with the columns of `n` pixels and stores them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[allow(clippy::too_many_arguments)]
unsafe fn multiply(
    job: &Job,
    eight: usize,
    weights: &[f32],
    columns: &[f32],
    n: usize,
    tile: &mut [f32],
    out: *mut f32,
    pixels: usize,
) {
    let terms = job.into * job.kernel[0] * job.kernel[1];
    let (vectors, lanes) = (n.div_ceil(16), n.next_multiple_of(16));
    let n_out = (job.out - eight * 8).min(8);
    // SAFETY: weights and columns have all terms; a whole tile is stored in place, any other in `tile`
    // first, of which only what exists is copied.
    unsafe {
        let in_place = n == lanes && n_out == 8;
        let place = out.add(eight * 8 * pixels);
        let to = if in_place { place } else { tile.as_mut_ptr() };
        let out_step = if in_place { pixels } else { lanes };
        for term in (0..terms).step_by(CHAIN) {
            let part = Tile {
                depth: CHAIN.min(terms - term),
                left: weights.as_ptr().add((eight * terms + term) * 8),
                left_step: 8,
                right: columns.as_ptr().add(term * lanes),
                right_step: lanes,
                out: to,
                out_step,
                add: term > 0,
            };
            product(vectors, part);
        }
        if in_place {
            return;
        }
        for channel in 0..n_out {
            for vector in 0..vectors {
                let from = tile.as_ptr().add(channel * lanes + vector * 16);
                let to = place.add(channel * pixels + vector * 16);
                _mm512_mask_storeu_ps(to, first(n - vector * 16), _mm512_loadu_ps(from));
            }
        }
    }
}
