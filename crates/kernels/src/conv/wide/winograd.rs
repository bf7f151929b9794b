//! Winograd's F(2x2, 3x3): a tile of 2 x 2 outputs needs 16 products per channel instead of 36.
//!
//! Input tiles of 4 x 4 become 16 frequencies, which are multiplied with those of the kernels as
//! matrices; the products become tiles of 2 x 2. Lanes are tiles: a task takes up to 48 of them through all
//! steps, so that everything between stays in the cache.

use std::arch::x86_64::*;

use fluvial_tensor::Result;

use super::Job;
use super::lanes::{Tile, copy, first, product};
use crate::conv::parallel::{Shared, buffer, run, share};

/// Tiles of a task: three vectors.
const BLOCK: usize = 48;

/// Output channels whose frequencies are kept before they become tiles.
const OUT_BLOCK: usize = 128;

/// Channels of one chain of sums, which bounds the rounding error.
const CHAIN: usize = 64;

/// Keeps the planes of the frequencies apart in the sets of the cache.
const APART: usize = 48;

/// The number of tasks below which output channels are split as well.
const ENOUGH_TASKS: usize = 8;

/// A convolution of 3 x 3 with stride and dilation 1.
pub(super) fn winograd(job: &Job, x: &[f32], weight: &[f32], out: &mut [f32]) -> Result<()> {
    let out = Shared::new(out);
    let plan = Plan::new(job);
    let mut kernels = buffer::<f32>(job.groups * plan.group_kernels())?;
    let kernels = Shared::new(kernels.as_mut_slice::<f32>()?);
    let eights = plan.eights;
    run(job.groups * eights, |task| {
        let (group, eight) = (task / eights, task % eights);
        // SAFETY: the machine has the instructions; each task writes its own eight kernels.
        unsafe { plan.transform_kernels(weight, kernels.as_ptr(), group, eight) };
        Ok(())
    })?;
    let n_blocks = plan.n_tiles.div_ceil(BLOCK);
    let n_parts = ENOUGH_TASKS.div_ceil(job.groups * n_blocks).min(job.out.div_ceil(256));
    run(job.groups * n_blocks * n_parts, |task| {
        let (part, rest) = (task % n_parts, task / n_parts);
        let (block, group) = (rest % n_blocks, rest / n_blocks);
        let tiles = Tiles::new(job, &plan, block * BLOCK);
        let v_len = 16 * (job.into * tiles.lanes() + APART);
        let m_len = 16 * (OUT_BLOCK * tiles.lanes() + APART);
        let mut memory = buffer::<f32>(v_len + m_len + tiles.window_len + 16)?;
        let memory = memory.as_mut_slice::<f32>()?;
        let (v, memory) = memory.split_at_mut(v_len);
        let (m, window) = memory.split_at_mut(m_len);
        window.fill(0.0);
        let parts = share(eights, n_parts, part, 1);
        // SAFETY: the machine has the instructions; memory is as long as the plan says, and each task
        // writes the outputs of its own tiles and channels.
        unsafe {
            tiles.transform(job, x, group, window, v);
            for at in parts.clone().step_by(OUT_BLOCK / 8) {
                let to = parts.end.min(at + OUT_BLOCK / 8);
                plan.multiply(kernels.as_ptr(), group, at..to, v, m, tiles.vectors);
                let channels = at * 8..job.out.min(to * 8);
                tiles.gather(job, m, group, channels, out.as_ptr());
            }
        }
        Ok(())
    })
}

/// Sizes of the steps.
struct Plan {
    job: Job,
    /// Rows and columns of tiles in an image.
    tiles: [usize; 2],
    n_tiles: usize,
    /// Output channels in groups of eight.
    eights: usize,
    /// The elements of one frequency of the kernels.
    kernel_plane: usize,
}

impl Plan {
    fn new(job: &Job) -> Plan {
        let tiles = [job.count[0].div_ceil(2), job.count[1].div_ceil(2)];
        let eights = job.out.div_ceil(8);
        Plan {
            job: *job,
            tiles,
            n_tiles: job.batch * tiles[0] * tiles[1],
            eights,
            kernel_plane: eights * 8 * job.into.next_multiple_of(2) + APART,
        }
    }

    fn group_kernels(&self) -> usize {
        16 * self.kernel_plane
    }

    /// Where the kernels of eight output channels start in a frequency: `[into][8]`.
    fn eight_start(&self, eight: usize) -> usize {
        eight * 8 * self.job.into.next_multiple_of(2)
    }

    /// Writes the frequencies of eight output channels' kernels. Lanes are two channels of eight.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn transform_kernels(
        &self,
        weight: &[f32],
        kernels: *mut f32,
        group: usize,
        eight: usize,
    ) {
        let (job, filter) = (&self.job, self.job.filter);
        let mut places = [0i32; 16];
        for (lane, place) in places.iter_mut().enumerate() {
            *place = (lane % 8 * filter.out_step + lane / 8 * filter.into_step) as i32;
        }
        let half = _mm512_set1_ps(0.5);
        let rows = |g: [__m512; 3]| {
            let outer = _mm512_mul_ps(half, _mm512_add_ps(g[0], g[2]));
            let inner = _mm512_mul_ps(half, g[1]);
            [g[0], _mm512_add_ps(outer, inner), _mm512_sub_ps(outer, inner), g[2]]
        };
        let n_out = (job.out - eight * 8).min(8);
        // SAFETY: masked lanes are not read, and the others are weights of existing channels; the planes
        // of the kernels have room for an even number of input channels.
        unsafe {
            let places = _mm512_loadu_si512(places.as_ptr().cast());
            let start = filter.origin + group * filter.group_step + eight * 8 * filter.out_step;
            let to = kernels.add(group * self.group_kernels() + self.eight_start(eight));
            for channel in (0..job.into).step_by(2) {
                let half_mask = first(n_out);
                let second = if channel + 1 < job.into { half_mask << 8 } else { 0 };
                let mask = half_mask | second;
                let from = weight.as_ptr().add(start + channel * filter.into_step);
                let mut taps = [[_mm512_setzero_ps(); 3]; 3];
                for (tap, value) in taps.as_flattened_mut().iter_mut().enumerate() {
                    let from = from.offset(tap as isize * filter.tap_step);
                    let zero = _mm512_setzero_ps();
                    *value = _mm512_mask_i32gather_ps::<4>(zero, mask, places, from.cast());
                }
                let along = [rows(taps[0]), rows(taps[1]), rows(taps[2])];
                let column = |j: usize| rows([along[0][j], along[1][j], along[2][j]]);
                let columns = [column(0), column(1), column(2), column(3)];
                for (j, column) in columns.iter().enumerate() {
                    for (i, &value) in column.iter().enumerate() {
                        let plane = (4 * i + j) * self.kernel_plane;
                        _mm512_storeu_ps(to.add(plane + channel * 8), value);
                    }
                }
            }
        }
    }

    /// Multiplies the frequencies of these eights of kernels with those of a block of tiles.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn multiply(
        &self,
        kernels: *const f32,
        group: usize,
        eights: std::ops::Range<usize>,
        v: &[f32],
        m: &mut [f32],
        vectors: usize,
    ) {
        let (into, lanes) = (self.job.into, vectors * 16);
        let (v_plane, m_plane) = (into * lanes + APART, OUT_BLOCK * lanes + APART);
        for frequency in 0..16 {
            let plane = group * self.group_kernels() + frequency * self.kernel_plane;
            for channel in (0..into).step_by(CHAIN) {
                for (number, eight) in eights.clone().enumerate() {
                    // SAFETY: all are within the planes of this frequency.
                    unsafe {
                        let left = kernels.add(plane + self.eight_start(eight) + channel * 8);
                        let right = v.as_ptr().add(frequency * v_plane + channel * lanes);
                        let out = m.as_mut_ptr().add(frequency * m_plane + number * 8 * lanes);
                        let tile = Tile {
                            depth: CHAIN.min(into - channel),
                            left,
                            left_step: 8,
                            right,
                            right_step: lanes,
                            out,
                            out_step: lanes,
                            add: channel > 0,
                        };
                        product(vectors, tile);
                    }
                }
            }
        }
    }
}

/// Tiles in a row of one image.
struct Strip {
    image: usize,
    row: usize,
    column: usize,
    /// The number of its first tile in the block.
    start: usize,
    len: usize,
}

/// A row of the input and where the window of the block has it.
struct Line {
    image: usize,
    from: usize,
    to: usize,
}

/// A block of tiles.
struct Tiles {
    vectors: usize,
    strips: Vec<Strip>,
    lines: Vec<Line>,
    /// Where each tile starts in the window: the rows that the block needs, with padding.
    places: [usize; BLOCK],
    window_len: usize,
    window_width: usize,
}

impl Tiles {
    fn new(job: &Job, plan: &Plan, start: usize) -> Tiles {
        let [rows, columns] = plan.tiles;
        let end = plan.n_tiles.min(start + BLOCK);
        let width = 2 * columns + 2;
        let (mut strips, mut lines, mut places) = (Vec::new(), Vec::new(), [0; BLOCK]);
        let (mut at, mut window_rows) = (start, 0);
        let mut last = usize::MAX;
        while at < end {
            let (strip_row, column) = (at / columns, at % columns);
            let (image, row) = (strip_row / rows, strip_row % rows);
            let len = (columns - column).min(end - at);
            // A strip below the last one shares two rows with it.
            let shared = if row > 0 && last.checked_add(1) == Some(strip_row) { 2 } else { 0 };
            let top = window_rows - shared;
            for line in shared..4 {
                let from = (2 * row + line).checked_sub(job.before[0]);
                if let Some(from) = from.filter(|&from| from < job.size[0]) {
                    let to = (top + line) * width + job.before[1];
                    lines.push(Line { image, from: from * job.size[1], to });
                }
            }
            for tile in 0..len {
                places[at - start + tile] = top * width + 2 * (column + tile);
            }
            strips.push(Strip { image, row, column, start: at - start, len });
            window_rows = top + 4;
            (at, last) = (at + len, strip_row);
        }
        let vectors = (end - start).div_ceil(16);
        let window_len = window_rows * width;
        Tiles { vectors, strips, lines, places, window_len, window_width: width }
    }

    fn lanes(&self) -> usize {
        self.vectors * 16
    }

    /// Writes the frequencies of the tiles of all channels to `v`: `[16][into][lanes]`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn transform(
        &self,
        job: &Job,
        x: &[f32],
        group: usize,
        window: &mut [f32],
        v: &mut [f32],
    ) {
        let pixels = job.size[0] * job.size[1];
        let width = job.size[1].min(self.window_width - job.before[1]);
        let lanes = self.lanes();
        let plane = job.into * lanes + APART;
        for channel in 0..job.into {
            for line in &self.lines {
                let channel = (line.image * job.groups + group) * job.into + channel;
                let from = &x[channel * pixels + line.from..][..width];
                let to = &mut window[line.to..][..width];
                // SAFETY: both slices have this length.
                unsafe { copy(from.as_ptr(), to.as_mut_ptr(), width) };
            }
            for vector in 0..self.vectors {
                let at = channel * lanes + vector * 16;
                let places = &self.places.as_chunks::<16>().0[vector];
                // SAFETY: tiles lie in the window, and `at` in each plane of `v`.
                unsafe {
                    let to = v.as_mut_ptr().add(at);
                    transform_tiles(window.as_ptr(), self.window_width, places, to, plane);
                }
            }
        }
    }

    /// Turns the products of these output channels into outputs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn gather(
        &self,
        job: &Job,
        m: &[f32],
        group: usize,
        channels: std::ops::Range<usize>,
        out: *mut f32,
    ) {
        let [height, width] = job.count;
        let lanes = self.lanes();
        let plane = OUT_BLOCK * lanes + APART;
        let mut rows = [[0.0f32; 2 * BLOCK]; 2];
        for (number, channel) in channels.enumerate() {
            // SAFETY: the channel lies in each plane of `m`; rows hold two columns for each tile; strips lie
            // in the image, and a second row or column is written only if there is one.
            unsafe {
                for vector in 0..self.vectors {
                    let from = m.as_ptr().add(number * lanes + vector * 16);
                    join_tiles(from, plane, &mut rows, vector * 32);
                }
                for strip in &self.strips {
                    let image = (strip.image * job.groups + group) * job.out + channel;
                    let to = out.add((image * height + 2 * strip.row) * width + 2 * strip.column);
                    let n = (2 * strip.len).min(width - 2 * strip.column);
                    copy(rows[0].as_ptr().add(2 * strip.start), to, n);
                    if 2 * strip.row + 1 < height {
                        copy(rows[1].as_ptr().add(2 * strip.start), to.add(width), n);
                    }
                }
            }
        }
    }
}

/// Writes the frequencies of 16 tiles, `plane` elements apart.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn transform_tiles(
    window: *const f32,
    width: usize,
    places: &[usize; 16],
    to: *mut f32,
    plane: usize,
) {
    let mut d = [[_mm512_setzero_ps(); 4]; 4];
    // SAFETY: four rows of four from each place are in the window, and the planes have room for `to`.
    unsafe {
        for (row, d) in d.iter_mut().enumerate() {
            let four = |s: usize| {
                let load = |q: usize| _mm_loadu_ps(window.add(places[4 * q + s] + row * width));
                let low = _mm512_castps128_ps512(load(0));
                let low = _mm512_insertf32x4::<1>(low, load(1));
                let low = _mm512_insertf32x4::<2>(low, load(2));
                _mm512_castps_pd(_mm512_insertf32x4::<3>(low, load(3)))
            };
            let (a, b, c, e) = (four(0), four(1), four(2), four(3));
            let single = |x| _mm512_castpd_ps(x);
            let wide = |x| _mm512_castps_pd(x);
            let ab = wide(_mm512_unpacklo_ps(single(a), single(b)));
            let ab_high = wide(_mm512_unpackhi_ps(single(a), single(b)));
            let ce = wide(_mm512_unpacklo_ps(single(c), single(e)));
            let ce_high = wide(_mm512_unpackhi_ps(single(c), single(e)));
            *d = [
                single(_mm512_unpacklo_pd(ab, ce)),
                single(_mm512_unpackhi_pd(ab, ce)),
                single(_mm512_unpacklo_pd(ab_high, ce_high)),
                single(_mm512_unpackhi_pd(ab_high, ce_high)),
            ];
        }
        let frequencies = input_frequencies(d);
        for (number, &value) in frequencies.as_flattened().iter().enumerate() {
            _mm512_storeu_ps(to.add(number * plane), value);
        }
    }
}

/// The frequencies of tiles of 4 x 4.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn input_frequencies(d: [[__m512; 4]; 4]) -> [[__m512; 4]; 4] {
    let four = |d: [__m512; 4]| {
        [
            _mm512_sub_ps(d[0], d[2]),
            _mm512_add_ps(d[1], d[2]),
            _mm512_sub_ps(d[2], d[1]),
            _mm512_sub_ps(d[1], d[3]),
        ]
    };
    let columns = [
        four([d[0][0], d[1][0], d[2][0], d[3][0]]),
        four([d[0][1], d[1][1], d[2][1], d[3][1]]),
        four([d[0][2], d[1][2], d[2][2], d[3][2]]),
        four([d[0][3], d[1][3], d[2][3], d[3][3]]),
    ];
    let row = |i: usize| four([columns[0][i], columns[1][i], columns[2][i], columns[3][i]]);
    [row(0), row(1), row(2), row(3)]
}

/// The outputs of 16 tiles, as two rows of 32 at `at`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn join_tiles(from: *const f32, plane: usize, rows: &mut [[f32; 2 * BLOCK]; 2], at: usize) {
    let two = |m: [__m512; 4]| {
        let (sum, difference) = (_mm512_add_ps(m[1], m[2]), _mm512_sub_ps(m[1], m[2]));
        [_mm512_add_ps(m[0], sum), _mm512_sub_ps(difference, m[3])]
    };
    // SAFETY: the caller has 16 planes, and 32 elements are left behind `at` in the rows.
    unsafe {
        let mut along = [[_mm512_setzero_ps(); 2]; 4];
        for (i, along) in along.iter_mut().enumerate() {
            let load = |j: usize| _mm512_loadu_ps(from.add((4 * i + j) * plane));
            *along = two([load(0), load(1), load(2), load(3)]);
        }
        let left = two([along[0][0], along[1][0], along[2][0], along[3][0]]);
        let right = two([along[0][1], along[1][1], along[2][1], along[3][1]]);
        let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        for row in 0..2 {
            let to = rows[row].as_mut_ptr().add(at);
            _mm512_storeu_ps(to, _mm512_permutex2var_ps(left[row], low, right[row]));
            _mm512_storeu_ps(to.add(16), _mm512_permutex2var_ps(left[row], high, right[row]));
        }
    }
}
