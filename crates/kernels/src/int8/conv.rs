//! Windows of images of bytes by packed weights.

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

use super::dot::{self, Dot, Set};
use super::linear::{Out, signed, unsigned};
use super::pack::{PANEL, Packed, pack_int8};
use super::tile::{channels, on_set};
use super::{Int8Epilogue, Sink, bytes, check_products};
use crate::conv::Windows;
use crate::lanes::{Parts, run_tasks};
use crate::scratch::Scratch;

/// The most lines of 16 pixels that a task packs.
const LINES: usize = 3;

/// Bytes behind an image that may be read, and are never used.
const SLACK: usize = 16;

/// The bytes of one element of the windows that a task packs.
const ROW: usize = 16 * LINES + SLACK;

/// Convolves `x`, bytes without sign of shape `[batch, in, ..]`, with packed weights of `outs` channels, as numbers of
/// shape `[batch, outs, ..]`. What stands beyond the edges is the zero point.
pub fn int8_conv(
    x: &Tensor,
    packed: &Tensor,
    outs: usize,
    windows: &Windows<'_>,
    then: &Int8Epilogue<'_>,
) -> Result<Tensor> {
    if then.weight_scale.len() != outs || then.bias.is_some_and(|bias| bias.len() != outs) {
        return Err(Error::shape(format!("not one scale and bias for each of {outs} channels")));
    }
    let shape = Shape::new(x.dims(), packed, outs, windows)?;
    let mut out = Tensor::empty(DType::F32, &shape.out_dims(x.rank()))?;
    let parts = Out::Numbers(Parts::new(out.as_mut_slice::<f32>()?));
    convolve(&shape, x, packed, Set::best(), Sink::Numbers(*then), &parts)?;
    Ok(out)
}

/// Convolves integers of 8 bits, `[batch, in, ..]`, less a zero point, with weights of such, `[out, in / groups, ..]`, less
/// one for each output channel or for all of them. The results are `i32`, and wrap.
pub fn conv_integer(
    x: &Tensor,
    weight: &Tensor,
    windows: &Windows<'_>,
    groups: usize,
    x_zero: i32,
    weight_zero: &[i32],
) -> Result<Tensor> {
    let outs = weight.dims().first().copied().unwrap_or(0);
    if weight_zero.len() != 1 && weight_zero.len() != outs {
        return Err(Error::shape(format!("not one zero point for each of {outs} channels")));
    }
    let (x, more) = unsigned(x)?;
    let zero = u8::try_from(x_zero.wrapping_add(more))
        .map_err(|_| Error::argument(format!("{x_zero} is not a zero point of 8 bits")))?;
    let (bytes_of, less) = signed(weight)?;
    let sums = |weight: &Tensor, outs: usize| -> Result<Tensor> {
        let packed = pack_int8(weight, groups)?;
        let shape = Shape::new(x.dims(), &packed, outs, windows)?;
        let mut out = Tensor::empty(DType::I32, &shape.out_dims(x.rank()))?;
        let parts = Out::Sums(Parts::new(out.as_mut_slice::<i32>()?));
        convolve(&shape, &x, &packed, Set::best(), Sink::Sums { zero }, &parts)?;
        Ok(out)
    };
    let mut out = sums(&bytes_of, outs)?;
    let zeros: Vec<i32> = weight_zero.iter().map(|zero| zero.wrapping_add(less)).collect();
    if zeros.iter().all(|&zero| zero == 0) || out.numel() == 0 {
        return Ok(out);
    }
    // Sums of the windows themselves, for each group.
    let mut dims: SmallVec<[usize; 8]> = weight.dims().into();
    dims[0] = groups;
    let of_windows = sums(&Tensor::full(&dims, 1i8)?, groups)?;
    let pixels = out.dims()[2..].iter().product::<usize>();
    let of_windows = of_windows.as_slice::<i32>().unwrap_or(&[]);
    for (number, out) in out.as_mut_slice::<i32>()?.chunks_exact_mut(pixels).enumerate() {
        let (image, channel) = (number / outs, number % outs);
        let group = channel / (outs / groups);
        let zero = zeros[if zeros.len() == 1 { 0 } else { channel }];
        let windows = &of_windows[(image * groups + group) * pixels..][..pixels];
        for (out, sum) in out.iter_mut().zip(windows) {
            *out = out.wrapping_sub(zero.wrapping_mul(*sum));
        }
    }
    Ok(out)
}

/// The sizes of a convolution; spatial axes that are missing are in front, with size one.
struct Shape {
    batch: usize,
    groups: usize,
    /// Of each group.
    ins: usize,
    outs: usize,
    size: [usize; 3],
    padded: [usize; 3],
    count: [usize; 3],
    before: [usize; 3],
    stride: [usize; 3],
    /// Where each element of a window lies, from the window's first element on, in the padded channels of a group.
    taps: Vec<usize>,
}

impl Shape {
    fn new(x: &[usize], packed: &Tensor, outs: usize, windows: &Windows<'_>) -> Result<Shape> {
        let groups = packed.dims().first().copied().unwrap_or(0);
        let &[batch, ins, ref size @ ..] = x else {
            return Err(Error::shape("expected a batch, channels and spatial axes"));
        };
        let axes = size.len();
        let alike = [windows.kernel, windows.stride, windows.before, windows.after];
        let fits = alike.iter().chain([&windows.dilation]).all(|list| list.len() == axes);
        if !fits || !(1..=3).contains(&axes) || groups == 0 {
            return Err(Error::shape("windows do not lie on these axes"));
        }
        if !ins.is_multiple_of(groups) || !outs.is_multiple_of(groups) {
            return Err(Error::shape(format!("{groups} groups do not divide the channels")));
        }
        let counts = windows.count(size)?;
        let aligned = |values: &[usize], missing: usize| {
            let mut all = [missing; 3];
            all[3 - axes..].copy_from_slice(values);
            all
        };
        let (kernel, dilation) = (aligned(windows.kernel, 1), aligned(windows.dilation, 1));
        let (before, after) = (aligned(windows.before, 0), aligned(windows.after, 0));
        let size = aligned(size, 1);
        let padded: [usize; 3] =
            std::array::from_fn(|i| before[i].saturating_add(size[i]).saturating_add(after[i]));
        let all = [batch, ins].into_iter().chain(padded);
        let fits = all.chain([2]).try_fold(1usize, |all, size| all.checked_mul(size.max(1)));
        if fits.is_none() {
            return Err(Error::memory(format!("images of {padded:?} are beyond all memory")));
        }
        let ins = ins / groups;
        check_products(ins.saturating_mul(kernel.iter().product()))?;
        let mut taps = Vec::new();
        for channel in 0..ins {
            for (z, y) in (0..kernel[0]).flat_map(|z| (0..kernel[1]).map(move |y| (z, y))) {
                let row = (channel * padded[0] + z * dilation[0]) * padded[1] + y * dilation[1];
                taps.extend((0..kernel[2]).map(|x| row * padded[2] + x * dilation[2]));
            }
        }
        let (count, stride) = (aligned(&counts, 1), aligned(windows.stride, 1));
        Ok(Shape {
            batch,
            groups,
            ins,
            outs: outs / groups,
            size,
            padded,
            count,
            before,
            stride,
            taps,
        })
    }

    fn out_dims(&self, rank: usize) -> SmallVec<[usize; 8]> {
        let spatial = &self.count[5 - rank..];
        [self.batch, self.groups * self.outs].iter().chain(spatial).copied().collect()
    }

    fn pixels(&self) -> usize {
        self.count.iter().product()
    }

    /// The elements of a padded channel.
    fn plane(&self) -> usize {
        self.padded.iter().product()
    }

    /// Copies all channels with the zero point around them; nothing if there is nothing around them.
    fn pad(&self, x: &[u8], zero: u8) -> Result<Option<Tensor>> {
        if self.padded == self.size {
            return Ok(None);
        }
        let plane = self.plane();
        let channels = self.batch * self.groups * self.ins;
        let mut padded = Tensor::empty(DType::U8, &[channels * plane + SLACK])?;
        let all = padded.as_mut_slice::<u8>()?;
        let (planes, rest) = all.split_at_mut(channels * plane);
        rest.fill(zero);
        let parts = Parts::new(planes);
        let per_task = (1usize << 16).div_ceil(plane.max(1));
        let size = self.size.iter().product::<usize>();
        run_tasks(channels.div_ceil(per_task), |task| {
            for channel in task * per_task..channels.min((task + 1) * per_task) {
                // SAFETY: each task has channels of its own.
                let to = unsafe { parts.get(channel * plane..(channel + 1) * plane) };
                to.fill(zero);
                let from = &x[channel * size..][..size];
                for (row, from) in from.chunks_exact(self.size[2].max(1)).enumerate() {
                    let (z, y) = (row / self.size[1], row % self.size[1]);
                    let at = (z + self.before[0]) * self.padded[1] + y + self.before[1];
                    let at = at * self.padded[2] + self.before[2];
                    to[at..at + from.len()].copy_from_slice(from);
                }
            }
            Ok(())
        })?;
        Ok(Some(padded))
    }

    /// Runs of pixels that lie side by side: where they go, how many they are, and where the first window begins in a
    /// channel.
    fn runs(&self, first: usize, end: usize) -> SmallVec<[Run; 8]> {
        let mut runs = SmallVec::new();
        let (mut pixel, width) = (first, self.count[2]);
        // Whole rows without gaps follow one another.
        let is_flat = self.stride == [1; 3]
            && self.count[2] == self.padded[2]
            && self.count[1] == self.padded[1];
        while pixel < end {
            let (row, x) = (pixel / width, pixel % width);
            let (z, y) = (row / self.count[1], row % self.count[1]);
            let len = if is_flat { end - pixel } else { (width - x).min(end - pixel) };
            let from = (z * self.stride[0] * self.padded[1] + y * self.stride[1]) * self.padded[2]
                + x * self.stride[2];
            runs.push(Run { at: pixel - first, len, from });
            pixel += len;
        }
        runs
    }
}

#[derive(Clone, Copy)]
struct Run {
    at: usize,
    len: usize,
    from: usize,
}

fn convolve(
    shape: &Shape,
    x: &Tensor,
    packed: &Tensor,
    set: Set,
    sink: Sink<'_>,
    out: &Out<'_>,
) -> Result<()> {
    let (x, packed) = (x.contiguous()?, packed.contiguous()?);
    let (Sink::Sums { zero } | Sink::Numbers(Int8Epilogue { zero, .. })) = sink;
    let padded = shape.pad(bytes(&x)?, zero)?;
    let image = bytes(padded.as_ref().unwrap_or(&x))?;
    let pixels = shape.pixels();
    if pixels == 0 || shape.outs == 0 || shape.batch == 0 {
        return Ok(());
    }
    let lines = pixels.div_ceil(16);
    let strips = lines.div_ceil(LINES);
    let per_image = shape.groups * strips;
    run_tasks(shape.batch * per_image, |task| {
        let (number, rest) = (task / per_image, task % per_image);
        let (group, strip) = (rest / strips, rest % strips);
        let line = |strip: usize| lines * strip / strips;
        let first = 16 * line(strip);
        let strip = Strip {
            shape,
            weight: Packed::group(&packed, group, shape.outs, shape.taps.len())?,
            image: &image[(number * shape.groups + group) * shape.ins * shape.plane()..],
            first,
            end: pixels.min(16 * line(strip + 1)),
            first_channel: group * shape.outs,
            row: number * shape.groups * shape.outs + group * shape.outs,
            sink,
            out,
        };
        strip.task(set)
    })
}

/// Some pixels of all output channels of a group.
struct Strip<'a> {
    shape: &'a Shape,
    weight: Packed<'a>,
    /// From the first channel of the group on.
    image: &'a [u8],
    first: usize,
    end: usize,
    first_channel: usize,
    /// The first row of the output, which has one for each channel of each image.
    row: usize,
    sink: Sink<'a>,
    out: &'a Out<'a>,
}

impl Strip<'_> {
    fn task(&self, set: Set) -> Result<()> {
        let lines = (self.end - self.first).div_ceil(16);
        let mut scratch = Scratch::take::<u32>(self.weight.steps() * 16 * lines)?;
        let memory = scratch.as_mut_ptr::<u32>();
        // SAFETY: the set is one of the machine; there is room for all lines of each step.
        unsafe { on_set!(set, run(self, lines, memory)) };
        Ok(())
    }

    /// Writes four bytes of each window after the other, step by step.
    #[inline(always)]
    unsafe fn pack(&self, lines: usize, to: *mut u32) {
        let runs = self.shape.runs(self.first, self.end);
        let (taps, width, step) = (&self.shape.taps, 16 * lines, self.shape.stride[2]);
        let mut rows = [[0u8; ROW]; 4];
        for number in 0..self.weight.steps() {
            for (i, row) in rows.iter_mut().enumerate() {
                match taps.get(4 * number + i) {
                    Some(&tap) => self.take(&runs, tap, step, row),
                    None => row.fill(0),
                }
            }
            // SAFETY: there is room for all lines of each step.
            let to = unsafe { std::slice::from_raw_parts_mut(to.add(number * width), width) };
            let lines = to.as_chunks_mut::<16>().0;
            for (l, to) in lines.iter_mut().enumerate().take(LINES) {
                let part = |row: &[u8; ROW]| -> [u8; 16] { row.as_chunks().0[l] };
                let [a, b, c, d] = [&rows[0], &rows[1], &rows[2], &rows[3]].map(part);
                for i in 0..16 {
                    to[i] = u32::from_ne_bytes([a[i], b[i], c[i], d[i]]);
                }
            }
        }
    }

    /// One element of each window.
    #[inline(always)]
    fn take(&self, runs: &[Run], tap: usize, step: usize, row: &mut [u8; ROW]) {
        for run in runs {
            let from = &self.image[tap + run.from..];
            if step != 1 {
                let to = &mut row[run.at..run.at + run.len];
                to.iter_mut().zip(from.iter().step_by(step)).for_each(|(to, &x)| *to = x);
            } else if from.len() < run.len.next_multiple_of(16) {
                row[run.at..run.at + run.len].copy_from_slice(&from[..run.len]);
            } else {
                // What is copied behind the run is written over by the next one.
                let (from, _) = from.as_chunks::<16>();
                let to = &mut row[run.at..run.at + run.len.next_multiple_of(16)];
                to.as_chunks_mut::<16>().0.iter_mut().zip(from).for_each(|(to, x)| *to = *x);
            }
        }
    }
}

#[inline(always)]
unsafe fn run<D: Dot>(strip: &Strip<'_>, lines: usize, memory: *mut u32) {
    // SAFETY: by the caller's promise, here and below.
    unsafe { strip.pack(lines, memory) };
    let (outs, line) = (strip.shape.outs, 64 * lines);
    let x = memory.cast_const().cast::<u8>();
    for panel in 0..strip.weight.panels() {
        let sums = strip.weight.sums(panel);
        let mut lane = 0;
        let end = PANEL.min(outs - panel * PANEL);
        while lane < end {
            let weight = strip.weight.panel(panel).wrapping_add(4 * lane);
            let part = Part {
                strip,
                x,
                line,
                weight,
                channel: panel * PANEL + lane,
                sums: &sums[lane..end],
            };
            // SAFETY: as above.
            lane += unsafe {
                match lines {
                    3 if D::SUMS >= 24 => part.tile_of::<D, 3>(0),
                    2 if D::SUMS >= 24 => part.tile_of::<D, 2>(0),
                    _ => {
                        for at in 1..lines {
                            part.tile_of::<D, 1>(at);
                        }
                        part.tile_of::<D, 1>(0)
                    }
                }
            };
        }
    }
}

/// Some channels of a panel.
struct Part<'a> {
    strip: &'a Strip<'a>,
    x: *const u8,
    line: usize,
    weight: *const i8,
    /// The first of them in the group.
    channel: usize,
    /// The sums of their weights.
    sums: &'a [i32],
}

impl Part<'_> {
    /// As many channels as there are registers for, by some lines; gives how many.
    #[inline(always)]
    unsafe fn tile_of<D: Dot, const L: usize>(&self, at: usize) -> usize {
        // SAFETY: by the caller's promise.
        unsafe {
            match (D::SUMS / L).min(self.sums.len()) {
                8.. => self.tile::<D, 8, L>(at),
                6.. => self.tile::<D, 6, L>(at),
                4.. => self.tile::<D, 4, L>(at),
                2.. => self.tile::<D, 2, L>(at),
                _ => self.tile::<D, 1, L>(at),
            }
        }
    }

    #[inline(always)]
    unsafe fn tile<D: Dot, const C: usize, const L: usize>(&self, at: usize) -> usize {
        let strip = self.strip;
        let steps = strip.weight.steps();
        // SAFETY: by the caller's promise.
        let sums = unsafe {
            channels::<D, C, L>(steps, self.x.wrapping_add(64 * at), self.line, self.weight)
        };
        let pixels = strip.shape.pixels();
        for (c, sums) in sums.iter().enumerate() {
            let number = self.channel + c;
            let channel = strip.sink.channel(strip.first_channel + number, self.sums[c]);
            let row = (strip.row + number) * pixels;
            for (l, sums) in sums.iter().enumerate() {
                let first = strip.first + 16 * (at + l);
                let width = strip.end.saturating_sub(first).min(16);
                let range = row + first..row + first + width;
                // SAFETY: these elements are this task's.
                unsafe {
                    match strip.out {
                        Out::Sums(out) => {
                            let moved = sums.map(|sum| sum.wrapping_add(channel.offset));
                            out.get(range).copy_from_slice(&moved[..width]);
                        }
                        Out::Numbers(out) => {
                            let numbers = sums.map(|sum| channel.number(sum));
                            match width {
                                16 => out.get(range).copy_from_slice(&numbers),
                                width => out.get(range).copy_from_slice(&numbers[..width]),
                            }
                        }
                    }
                }
            }
        }
        C
    }
}
