//! The gradient of the weights of a 1 x 1 convolution: the product of two matrices whose rows are channels
//! and whose columns, which are summed over, are pixels. Both are turned by chunks of pixels.

use std::arch::x86_64::*;
use std::ops::Range;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{Soon, Tile, first, product, transpose};
use crate::conv::parallel::{Shared, buffer, run, share};

/// Pixels of a chunk.
const CHUNK: usize = 128;

/// The most channels of a part, of either side.
const PART: usize = 256;

/// The number of tasks to aim at.
const ENOUGH_TASKS: usize = 8;

/// The gradient of the weights of a convolution of 1 x 1, of stride 1 without padding.
pub(super) fn pointwise_weights(job: &Job, x: &[f32], y: &[f32], out: &mut [f32]) -> Result<()> {
    let pixels = job.size[0] * job.size[1];
    let (out_parts, into_parts) = (job.out.div_ceil(PART), job.into.div_ceil(PART));
    let n_parts = job.groups * out_parts * into_parts;
    let per_image = pixels.div_ceil(CHUNK);
    let n_chunks = job.batch * per_image;
    let runs = ENOUGH_TASKS.div_ceil(n_parts).min(n_chunks);
    let out_vectors = job.out.div_ceil(16).div_ceil(out_parts);
    let into_vectors = job.into.div_ceil(16).div_ceil(into_parts);
    let sums_len = out_vectors * into_vectors * 256;
    let part = |number: usize| {
        let (group, rest) = (number / (out_parts * into_parts), number % (out_parts * into_parts));
        let of_out = share(job.out, out_parts, rest / into_parts, 16);
        (group, of_out, share(job.into, into_parts, rest % into_parts, 16))
    };
    let mut sums = buffer::<f32>(n_parts * runs * sums_len)?;
    let sums = Shared::new(sums.as_mut_slice::<f32>()?);
    run(n_parts * runs, |task| {
        let (group, of_out, of_into) = part(task / runs);
        let (n_out, n_into) = (of_out.len().div_ceil(16), of_into.len().div_ceil(16));
        let mut memory = buffer::<f32>((out_vectors + into_vectors) * 16 * CHUNK)?;
        let memory = memory.as_mut_slice::<f32>()?;
        let (left, right) = memory.split_at_mut(out_vectors * 16 * CHUNK);
        let chunks = share(n_chunks, runs, task % runs, 1);
        for chunk in chunks.clone() {
            let (image, at) = (chunk / per_image, chunk % per_image * CHUNK);
            let n = CHUNK.min(pixels - at);
            let channels = |all: usize, range: &Range<usize>| {
                let start = (image * job.groups + group) * all;
                start + range.start..start + range.end
            };
            // SAFETY: the machine has the instructions; memory has all pixels of a chunk, and each task has
            // its own sums.
            unsafe {
                for (start, vectors) in panels(n_out, 1) {
                    let to = &mut left[start * 16 * CHUNK..];
                    turn(y, channels(job.out, &of_out), pixels, at..at + n, start, vectors, to);
                }
                for (start, vectors) in panels(n_into, 3) {
                    let to = &mut right[start * 16 * CHUNK..];
                    turn(x, channels(job.into, &of_into), pixels, at..at + n, start, vectors, to);
                }
                let sums = sums.part(task * sums_len, sums_len).as_mut_ptr();
                let soon = |planes: &[f32], channels: Range<usize>| Soon {
                    data: planes.as_ptr().wrapping_add(channels.start * pixels + at + n),
                    step: pixels,
                    len: CHUNK.min(pixels - at - n),
                    rows: channels.len(),
                };
                let soon =
                    [soon(x, channels(job.into, &of_into)), soon(y, channels(job.out, &of_out))];
                let eights = of_out.len().div_ceil(8);
                let n_products = n_into.div_ceil(3) * eights;
                for (number, (start, vectors)) in panels(n_into, 3).enumerate() {
                    for eight in 0..eights {
                        soon[0].fetch(n_products, number * eights + eight);
                        soon[1].fetch(n_products, number * eights + eight);
                        let tile = Tile {
                            depth: n,
                            left: left.as_ptr().add(eight / 2 * 16 * CHUNK + eight % 2 * 8),
                            left_step: 16,
                            right: right.as_ptr().add(start * 16 * CHUNK),
                            right_step: vectors * 16,
                            out: sums.add(eight * 8 * into_vectors * 16 + start * 16),
                            out_step: into_vectors * 16,
                            add: chunk > chunks.start,
                        };
                        product(vectors, tile);
                    }
                }
            }
        }
        Ok(())
    })?;
    for number in 0..n_parts {
        let (group, of_out, of_into) = part(number);
        for (local, channel) in of_out.enumerate() {
            let start = (group * job.out + channel) * job.into;
            let out = &mut out[start + of_into.start..start + of_into.end];
            for run in 0..runs {
                // SAFETY: all tasks have ended.
                let sums = unsafe { sums.part((number * runs + run) * sums_len, sums_len) };
                let sums = &sums[local * into_vectors * 16..];
                match run {
                    0 => out.copy_from_slice(&sums[..out.len()]),
                    _ => out.iter_mut().zip(sums).for_each(|(out, &sum)| *out += sum),
                }
            }
        }
    }
    Ok(())
}

/// So many vectors in panels of at most `most`: the first of each, and how many it has.
fn panels(vectors: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let n_panels = vectors.div_ceil(most);
    (0..n_panels).map(move |number| {
        let range = share(vectors, n_panels, number, 1);
        (range.start, range.len())
    })
}

/// Writes pixels of a panel of channels, which starts at vector `start` of `channels`: `[pixels][panel]`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn turn(
    planes: &[f32],
    channels: Range<usize>,
    plane: usize,
    pixels: Range<usize>,
    start: usize,
    vectors: usize,
    to: &mut [f32],
) {
    for vector in 0..vectors {
        let channel = channels.start + (start + vector) * 16;
        let n_channels = channels.end.saturating_sub(channel).min(16);
        for at in pixels.clone().step_by(16) {
            let n = (pixels.end - at).min(16);
            let mut rows = [_mm512_setzero_ps(); 16];
            // SAFETY: masks keep the reads in the planes of existing channels; the panel has all pixels.
            unsafe {
                for (lane, row) in rows.iter_mut().enumerate().take(n_channels) {
                    let from = planes.as_ptr().add((channel + lane) * plane + at);
                    *row = _mm512_maskz_loadu_ps(first(n), from);
                }
                let columns = transpose(rows);
                for (pixel, &column) in columns.iter().enumerate().take(n) {
                    let place = (at - pixels.start + pixel) * vectors + vector;
                    _mm512_storeu_ps(to.as_mut_ptr().add(place * 16), column);
                }
            }
        }
    }
}
