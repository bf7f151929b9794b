//! The adjoint of Winograd's F(2x2, 3x3) as a function of the weights.
//!
//! Tiles of the input and of the output's gradient become 16 frequencies each, which are multiplied and
//! summed over all tiles; the sums become kernels of 3 x 3. Lanes are channels. A task takes a part of the
//! channels of both sides and a run of rows of tiles, in chunks that stay in the cache.

use std::arch::x86_64::*;
use std::ops::Range;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{Tile, first, product, transpose};
use super::winograd::input_frequencies;
use crate::conv::parallel::{Shared, buffer, run, share};

/// The most channels of a part, of either side.
const PART: usize = 128;

/// The tiles of a chunk, unless a row has more.
const CHUNK: usize = 64;

/// The number of tasks to aim at.
const ENOUGH_TASKS: usize = 8;

/// Keeps the planes of the frequencies apart in the sets of the cache.
const APART: usize = 48;

/// The adjoint of a convolution of 3 x 3 with stride and dilation 1; `job` is the convolution.
pub(super) fn winograd_weights(job: &Job, x: &[f32], y: &[f32], out: &mut [f32]) -> Result<()> {
    let plan = Plan::new(job);
    let n_parts = plan.out_parts * plan.into_parts;
    let mut sums = buffer::<f32>(job.groups * n_parts * plan.runs * plan.sums_len())?;
    let sums = Shared::new(sums.as_mut_slice::<f32>()?);
    run(job.groups * n_parts * plan.runs, |task| {
        let part = plan.part(task / plan.runs);
        let mut memory = buffer::<f32>(plan.memory_len())?;
        // SAFETY: the machine has the instructions; each task has its own sums.
        unsafe {
            let sums = sums.part(task * plan.sums_len(), plan.sums_len());
            let rows = share(plan.rows(), plan.runs, task % plan.runs, plan.chunk_rows);
            plan.sum(&part, rows, x, y, memory.as_mut_slice::<f32>()?, sums);
        }
        Ok(())
    })?;
    let out = Shared::new(out);
    run(job.groups * n_parts, |number| {
        let part = plan.part(number);
        // SAFETY: the machine has the instructions, the sums are complete, and each part of the channels
        // has its own kernels.
        unsafe {
            let start = number * plan.runs * plan.sums_len();
            let sums = sums.part(start, plan.runs * plan.sums_len());
            plan.join(&part, sums, out.as_ptr());
        }
        Ok(())
    })
}

/// Sizes of the steps.
struct Plan {
    job: Job,
    tiles: [usize; 2],
    out_parts: usize,
    into_parts: usize,
    /// Runs of rows of tiles that are summed apart.
    runs: usize,
    /// Rows of tiles in a chunk.
    chunk_rows: usize,
    /// Channels of the largest part, as a number of vectors.
    out_vectors: usize,
    into_vectors: usize,
}

/// Channels of both sides.
struct Part {
    group: usize,
    out: Range<usize>,
    into: Range<usize>,
}

/// One side of the product: the planes it comes from.
struct Side<'a> {
    planes: &'a [f32],
    /// The channels of an image, and those of the part.
    per_image: usize,
    channels: Range<usize>,
    size: [usize; 2],
    /// Zeros in front of rows and columns, and the pixels of a tile.
    before: [usize; 2],
    pixels: usize,
}

impl Plan {
    fn new(job: &Job) -> Plan {
        let tiles = [job.count[0].div_ceil(2), job.count[1].div_ceil(2)];
        let (out_parts, into_parts) = (job.out.div_ceil(PART), job.into.div_ceil(PART));
        let chunk_rows = (CHUNK / tiles[1]).max(1).min(job.batch * tiles[0]);
        let n_chunks = (job.batch * tiles[0]).div_ceil(chunk_rows);
        let n_parts = job.groups * out_parts * into_parts;
        Plan {
            job: *job,
            tiles,
            out_parts,
            into_parts,
            runs: ENOUGH_TASKS.div_ceil(n_parts).min(n_chunks),
            chunk_rows,
            out_vectors: job.out.div_ceil(16).div_ceil(out_parts),
            into_vectors: job.into.div_ceil(16).div_ceil(into_parts),
        }
    }

    /// Rows of tiles in all images.
    fn rows(&self) -> usize {
        self.job.batch * self.tiles[0]
    }

    fn part(&self, number: usize) -> Part {
        let (into, rest) = (number % self.into_parts, number / self.into_parts);
        Part {
            group: rest / self.out_parts,
            out: share(self.job.out, self.out_parts, rest % self.out_parts, 16),
            into: share(self.job.into, self.into_parts, into, 16),
        }
    }

    /// The elements of one frequency of the sums: `[out][into]` in tiles of 8 by up to 48.
    fn sum_plane(&self) -> usize {
        self.out_vectors * self.into_vectors * 256 + APART
    }

    fn sums_len(&self) -> usize {
        16 * self.sum_plane()
    }

    fn chunk_tiles(&self) -> usize {
        self.chunk_rows * self.tiles[1]
    }

    /// The elements of one frequency of a chunk, for so many vectors of channels.
    fn plane(&self, vectors: usize) -> usize {
        vectors * 16 * self.chunk_tiles() + APART
    }

    fn window_len(&self) -> usize {
        (2 * self.chunk_rows + 2) * (2 * self.tiles[1] + 2) * 16
    }

    fn memory_len(&self) -> usize {
        16 * (self.plane(self.out_vectors) + self.plane(self.into_vectors)) + self.window_len()
    }

    /// Sums the products of the frequencies over these rows of tiles.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn sum(
        &self,
        part: &Part,
        rows: Range<usize>,
        x: &[f32],
        y: &[f32],
        memory: &mut [f32],
        sums: &mut [f32],
    ) {
        let job = &self.job;
        let (y_plane, x_plane) = (self.plane(self.out_vectors), self.plane(self.into_vectors));
        let (of_y, memory) = memory.split_at_mut(16 * y_plane);
        let (of_x, window) = memory.split_at_mut(16 * x_plane);
        let offset = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
        let x = Side {
            planes: x,
            per_image: job.groups * job.into,
            channels: offset(&part.into, part.group * job.into),
            size: job.size,
            before: job.before,
            pixels: 4,
        };
        let y = Side {
            planes: y,
            per_image: job.groups * job.out,
            channels: offset(&part.out, part.group * job.out),
            size: job.count,
            before: [0, 0],
            pixels: 2,
        };
        let panels = Panels::new(part.into.len().div_ceil(16));
        for chunk in rows.clone().step_by(self.chunk_rows) {
            let chunk_rows = chunk..rows.end.min(chunk + self.chunk_rows);
            let n_tiles = chunk_rows.len() * self.tiles[1];
            // SAFETY: memory has the planes of this plan; the caller vouches for the rest.
            unsafe {
                self.transform(&x, chunk_rows.clone(), window, of_x, x_plane, &panels);
                let single = Panels::single(part.out.len().div_ceil(16));
                self.transform(&y, chunk_rows, window, of_y, y_plane, &single);
                for frequency in 0..16 {
                    let of_y = of_y.as_ptr().add(frequency * y_plane);
                    let of_x = of_x.as_ptr().add(frequency * x_plane);
                    let sums = sums.as_mut_ptr().add(frequency * self.sum_plane());
                    for eight in 0..part.out.len().div_ceil(8) {
                        for (start, vectors) in panels.iter() {
                            let tile = Tile {
                                depth: n_tiles,
                                left: of_y.add(eight / 2 * 16 * self.chunk_tiles() + eight % 2 * 8),
                                left_step: 16,
                                right: of_x.add(start * 16 * self.chunk_tiles()),
                                right_step: vectors * 16,
                                out: sums.add(eight * self.into_vectors * 128 + start * 128),
                                out_step: vectors * 16,
                                add: chunk > rows.start,
                            };
                            product(vectors, tile);
                        }
                    }
                }
            }
        }
    }

    /// Writes the frequencies of these rows of tiles: by panels of channels `[tiles][channels]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn transform(
        &self,
        side: &Side<'_>,
        rows: Range<usize>,
        window: &mut [f32],
        to: &mut [f32],
        plane: usize,
        panels: &Panels,
    ) {
        let columns = self.tiles[1];
        let width = 2 * columns + side.pixels - 2;
        for (panel, vectors) in panels.iter() {
            for vector in 0..vectors {
                let start = side.channels.start + (panel + vector) * 16;
                let channels = start..side.channels.end.min(start + 16);
                let mut row = rows.start;
                while row < rows.end {
                    let (image, first_row) = (row / self.tiles[0], row % self.tiles[0]);
                    let n_rows = (self.tiles[0] - first_row).min(rows.end - row);
                    let lines = 2 * n_rows + side.pixels - 2;
                    for line in 0..lines {
                        let line_to = &mut window[line * width * 16..][..width * 16];
                        side.copy_line(image, channels.clone(), 2 * first_row + line, line_to);
                    }
                    for tile in 0..n_rows * columns {
                        let (tile_row, column) = (tile / columns, tile % columns);
                        let number = (row - rows.start) * columns + tile;
                        let at = panel * 16 * self.chunk_tiles() + (number * vectors + vector) * 16;
                        // SAFETY: the window has the pixels of the tile, and each plane has its place.
                        unsafe {
                            let from =
                                window.as_ptr().add((2 * tile_row * width + 2 * column) * 16);
                            let to = to.as_mut_ptr().add(at);
                            match side.pixels {
                                4 => input_tile(from, width * 16, to, plane),
                                _ => output_tile(from, width * 16, to, plane),
                            }
                        }
                    }
                    row += n_rows;
                }
            }
        }
    }

    /// Adds the runs up and turns the sums into kernels.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn join(&self, part: &Part, sums: &[f32], out: *mut f32) {
        let job = &self.job;
        let half = _mm512_set1_ps(0.5);
        let three = |u: [__m512; 4]| {
            let sum = _mm512_mul_ps(half, _mm512_add_ps(u[1], u[2]));
            let difference = _mm512_mul_ps(half, _mm512_sub_ps(u[1], u[2]));
            [_mm512_add_ps(u[0], sum), difference, _mm512_add_ps(sum, u[3])]
        };
        let mut places = [0i32; 16];
        for (lane, place) in places.iter_mut().enumerate() {
            *place = (lane * job.filter.into_step) as i32;
        }
        let panels = Panels::new(part.into.len().div_ceil(16));
        // SAFETY: the sums are those of this plan; masked lanes are not written, the others are kernels of
        // the part.
        unsafe {
            let places = _mm512_loadu_si512(places.as_ptr().cast());
            for channel in part.out.clone() {
                let local = channel - part.out.start;
                for (panel, vectors) in panels.iter() {
                    for vector in 0..vectors {
                        let at = (local / 8 * self.into_vectors + panel) * 128
                            + (local % 8 * vectors + vector) * 16;
                        let mut u = [[_mm512_setzero_ps(); 4]; 4];
                        for (frequency, u) in u.as_flattened_mut().iter_mut().enumerate() {
                            for run in 0..self.runs {
                                let from =
                                    run * self.sums_len() + frequency * self.sum_plane() + at;
                                *u = _mm512_add_ps(*u, _mm512_loadu_ps(sums.as_ptr().add(from)));
                            }
                        }
                        let along = [three(u[0]), three(u[1]), three(u[2]), three(u[3])];
                        let into = part.into.start + (panel + vector) * 16;
                        let mask = first(part.into.end - into);
                        let start = part.group * job.filter.group_step
                            + channel * job.filter.out_step
                            + into * job.filter.into_step;
                        let column =
                            |j: usize| three([along[0][j], along[1][j], along[2][j], along[3][j]]);
                        for (j, column) in [column(0), column(1), column(2)].iter().enumerate() {
                            for (i, &value) in column.iter().enumerate() {
                                let to = out.add(start + 3 * i + j);
                                _mm512_mask_i32scatter_ps::<4>(to.cast(), mask, places, value);
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Side<'_> {
    /// Copies a row of 16 channels, which `padded` counts from the first zero: `[columns][16]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn copy_line(&self, image: usize, channels: Range<usize>, padded: usize, to: &mut [f32]) {
        let [height, width] = self.size;
        let row = padded.checked_sub(self.before[0]).filter(|&row| row < height);
        let Some(row) = row else {
            return to.fill(0.0);
        };
        let columns = to.len() / 16;
        let left = self.before[1].min(columns);
        let inside = width.min(columns - left);
        to[..left * 16].fill(0.0);
        to[(left + inside) * 16..].fill(0.0);
        let step = height * width;
        let start = (image * self.per_image + channels.start) * step + row * width;
        let from = &self.planes[start..start + (channels.len() - 1) * step + width];
        let to = &mut to[left * 16..(left + inside) * 16];
        for at in (0..inside).step_by(16) {
            let n = (inside - at).min(16);
            let mask = first(n);
            let mut rows = [_mm512_setzero_ps(); 16];
            // SAFETY: masks keep the reads in the row of each channel, and `n` vectors of `to` are left.
            unsafe {
                for (channel, row) in rows.iter_mut().enumerate().take(channels.len()) {
                    *row = _mm512_maskz_loadu_ps(mask, from.as_ptr().add(channel * step + at));
                }
                let columns = transpose(rows);
                for (column, &values) in columns.iter().enumerate().take(n) {
                    _mm512_storeu_ps(to.as_mut_ptr().add((at + column) * 16), values);
                }
            }
        }
    }
}

/// Vectors of channels in panels of one to three.
struct Panels {
    vectors: usize,
    panels: usize,
}

impl Panels {
    fn new(vectors: usize) -> Panels {
        Panels { vectors, panels: vectors.div_ceil(3) }
    }

    fn single(vectors: usize) -> Panels {
        Panels { vectors, panels: vectors }
    }

    /// The first vector of each panel, and how many it has.
    fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.panels).map(|number| {
            let range = share(self.vectors, self.panels, number, 1);
            (range.start, range.len())
        })
    }
}

/// Writes the frequencies of a tile of 4 x 4 pixels in 16 channels.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn input_tile(from: *const f32, row_step: usize, to: *mut f32, plane: usize) {
    let mut d = [[_mm512_setzero_ps(); 4]; 4];
    // SAFETY: the caller has four rows of four, and 16 planes.
    unsafe {
        for (i, d) in d.iter_mut().enumerate() {
            for (j, d) in d.iter_mut().enumerate() {
                *d = _mm512_loadu_ps(from.add(i * row_step + 16 * j));
            }
        }
        let frequencies = input_frequencies(d);
        for (number, &value) in frequencies.as_flattened().iter().enumerate() {
            _mm512_storeu_ps(to.add(number * plane), value);
        }
    }
}

/// Writes the frequencies of a tile of 2 x 2 outputs in 16 channels.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn output_tile(from: *const f32, row_step: usize, to: *mut f32, plane: usize) {
    let four = |a: __m512, b: __m512| {
        let zero = _mm512_setzero_ps();
        [a, _mm512_add_ps(a, b), _mm512_sub_ps(a, b), _mm512_sub_ps(zero, b)]
    };
    // SAFETY: the caller has two rows of two, and 16 planes.
    unsafe {
        let load = |i: usize, j: usize| _mm512_loadu_ps(from.add(i * row_step + 16 * j));
        let left = four(load(0, 0), load(1, 0));
        let right = four(load(0, 1), load(1, 1));
        for i in 0..4 {
            let row = four(left[i], right[i]);
            for (j, &value) in row.iter().enumerate() {
                _mm512_storeu_ps(to.add((4 * i + j) * plane), value);
            }
        }
    }
}
