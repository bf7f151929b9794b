//! The windows of an image as the columns of a matrix, and back.

use fluvial_tensor::{Result, memory};
use smallvec::SmallVec;

use crate::conv::Windows;
use crate::scalar::compute::Compute;

/// From this length on, elements are copied by a call.
const LONG: usize = 16;

/// Windows on an image of some channels. Axes that are missing are in front, with size one.
pub(super) struct Geometry {
    channels: usize,
    size: [usize; 3],
    count: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    before: [usize; 3],
    dilation: [usize; 3],
}

/// Windows along the last axis, and what one of their elements reads.
struct Run {
    /// Where the run starts in the matrix.
    start: usize,
    /// Where the image has the element of the first window; nothing if that is padding.
    from: Option<usize>,
    /// The first window whose element lies in the image, and the end of these.
    windows: [usize; 2],
}

/// Where each element of each window lies in a channel: runs of windows are too short in small images to
/// be worth finding out each time.
pub(super) struct Table {
    /// For each element of the kernel and each window; `outside` for padding.
    places: Vec<u32>,
    outside: usize,
    windows: usize,
    /// Whether the windows are the elements of the channel.
    is_channel: bool,
}

impl Table {
    /// Writes the windows on a channel to rows of a matrix, from a column on. `memory` has room for a channel
    /// and one more.
    pub(super) fn unfold<T: Compute>(
        &self,
        channel: &[T],
        memory: &mut [T],
        matrix: &mut [T],
        row_len: usize,
        at: usize,
    ) {
        if self.is_channel {
            return matrix[at..][..self.windows].copy_from_slice(channel);
        }
        memory[..self.outside].copy_from_slice(channel);
        memory[self.outside] = T::default();
        for (row, places) in self.places.chunks_exact(self.windows).enumerate() {
            let to = &mut matrix[row * row_len + at..][..self.windows];
            to.iter_mut().zip(places).for_each(|(to, &place)| *to = memory[place as usize]);
        }
    }

    /// Adds up windows in a channel; they are rows of a matrix, whose columns from `at` on are the elements.
    pub(super) fn fold<T: Compute>(
        &self,
        matrix: &[T],
        row_len: usize,
        at: usize,
        memory: &mut [T],
        channel: &mut [T],
    ) {
        memory.fill(T::default());
        let taps = self.places.len() / self.windows;
        for window in 0..self.windows {
            let from = &matrix[window * row_len + at..][..taps];
            let places = self.places[window..].iter().step_by(self.windows);
            for (&x, &place) in from.iter().zip(places) {
                let sum = &mut memory[place as usize];
                *sum = sum.plus(x);
            }
        }
        channel.copy_from_slice(&memory[..self.outside]);
    }

    /// The room that a channel and padding need.
    pub(super) fn memory(&self) -> usize {
        self.outside + 1
    }
}

/// All pairs of numbers below these two.
fn pairs(first: usize, second: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..first).flat_map(move |a| (0..second).map(move |b| (a, b)))
}

/// The values of the last axes, behind ones (or zeros) for the axes that are missing.
fn aligned(values: &[usize], missing: usize) -> [usize; 3] {
    let mut all = [missing; 3];
    all[3 - values.len()..].copy_from_slice(values);
    all
}

impl Geometry {
    /// For channels of these sizes, on which so many windows lie.
    pub(super) fn new(
        channels: usize,
        sizes: &[usize],
        counts: &[usize],
        windows: &Windows<'_>,
    ) -> Geometry {
        Geometry {
            channels,
            size: aligned(sizes, 1),
            count: aligned(counts, 1),
            kernel: aligned(windows.kernel, 1),
            stride: aligned(windows.stride, 1),
            before: aligned(windows.before, 0),
            dilation: aligned(windows.dilation, 1),
        }
    }

    /// The channels of the image.
    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// The rows of the matrix: the elements of a window.
    pub(super) fn rows(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// The columns of the matrix: the windows.
    pub(super) fn columns(&self) -> usize {
        self.count.iter().product()
    }

    /// Whether the only window is the image.
    pub(super) fn is_whole(&self) -> bool {
        self.columns() == 1
            && self.kernel == self.size
            && self.before == [0; 3]
            && (0..3).all(|axis| self.dilation[axis] == 1 || self.kernel[axis] == 1)
    }

    /// The elements of the image.
    pub(super) fn image(&self) -> usize {
        self.channels * self.size.iter().product::<usize>()
    }

    /// Calls `f` with each run of windows along the last axis.
    fn each_run(&self, mut f: impl FnMut(Run)) {
        let [depth, height, width] = self.size;
        let [count_depth, count_height, count_width] = self.count;
        let inside: SmallVec<[_; 8]> = (0..self.kernel[2]).map(|at| self.inside(at)).collect();
        let mut start = 0;
        for channel in 0..self.channels {
            for (at_depth, at_height) in pairs(self.kernel[0], self.kernel[1]) {
                for &(windows, position) in &inside {
                    for (z, y) in pairs(count_depth, count_height) {
                        let plane = self.position(0, z, at_depth);
                        let from =
                            plane.zip(self.position(1, y, at_height)).map(|(plane, line)| {
                                ((channel * depth + plane) * height + line) * width + position
                            });
                        f(Run { start, from, windows });
                        start += count_width;
                    }
                }
            }
        }
    }

    /// Where an element of a window lies on the axis; nothing if that is padding.
    fn position(&self, axis: usize, window: usize, element: usize) -> Option<usize> {
        (window * self.stride[axis] + element * self.dilation[axis])
            .checked_sub(self.before[axis])
            .filter(|&position| position < self.size[axis])
    }

    /// The windows along the last axis whose element lies in the image: the first and the end, and the
    /// position of the first.
    fn inside(&self, element: usize) -> ([usize; 2], usize) {
        let (stride, before, width) = (self.stride[2], self.before[2], self.size[2]);
        let offset = element * self.dilation[2];
        let first = before.saturating_sub(offset).div_ceil(stride).min(self.count[2]);
        let end = (width + before).saturating_sub(offset).div_ceil(stride).min(self.count[2]);
        let position = (first * stride + offset).saturating_sub(before);
        ([first, end.max(first)], position)
    }

    /// Writes the windows of an image to the columns of a matrix.
    pub(super) fn unfold<T: Compute>(&self, image: &[T], matrix: &mut [T]) {
        let stride = self.stride[2];
        self.each_run(|run| {
            let [first, end] = run.windows;
            let to = &mut matrix[run.start..][..self.count[2]];
            let Some(from) = run.from.filter(|_| first < end) else {
                to.fill(T::default());
                return;
            };
            to[..first].fill(T::default());
            to[end..].fill(T::default());
            let (to, row) = (&mut to[first..end], &image[from..]);
            match stride {
                1 if to.len() >= LONG => to.copy_from_slice(&row[..end - first]),
                1 => to.iter_mut().zip(row).for_each(|(to, &x)| *to = x),
                _ => to.iter_mut().zip(row.iter().step_by(stride)).for_each(|(to, &x)| *to = x),
            }
        });
    }

    /// Adds the columns of a matrix to their windows of an image.
    pub(super) fn fold<T: Compute>(&self, matrix: &[T], image: &mut [T]) {
        let stride = self.stride[2];
        self.each_run(|run| {
            let [first, end] = run.windows;
            let Some(from) = run.from.filter(|_| first < end) else { return };
            let terms = &matrix[run.start + first..run.start + end];
            let row = image[from..].iter_mut();
            match stride {
                1 => row.zip(terms).for_each(|(sum, &x)| *sum = sum.plus(x)),
                _ => row.step_by(stride).zip(terms).for_each(|(sum, &x)| *sum = sum.plus(x)),
            }
        });
    }

    /// Where the elements of windows lie in a channel.
    pub(super) fn table(&self) -> Result<Table> {
        let outside = self.size.iter().product::<usize>();
        let taps = self.kernel.iter().product::<usize>();
        let mut places = memory::filled(outside as u32, taps * self.columns())?;
        let [_, height, width] = self.size;
        for (tap, places) in places.chunks_exact_mut(self.columns().max(1)).enumerate() {
            let [_, kernel_height, kernel_width] = self.kernel;
            let at_width = tap % kernel_width;
            let (at_depth, at_height) =
                (tap / kernel_width / kernel_height, tap / kernel_width % kernel_height);
            for (window, place) in places.iter_mut().enumerate() {
                let [_, count_height, count_width] = self.count;
                let x = self.position(2, window % count_width, at_width);
                let y = self.position(1, window / count_width % count_height, at_height);
                let z = self.position(0, window / count_width / count_height, at_depth);
                if let (Some(z), Some(y), Some(x)) = (z, y, x) {
                    *place = ((z * height + y) * width + x) as u32;
                }
            }
        }
        let is_channel = taps == 1 && places.iter().copied().eq(0..outside as u32);
        Ok(Table { places, outside, windows: self.columns(), is_channel })
    }

    /// Unfolds image after image.
    pub(super) fn unfold_all<T: Compute>(&self, images: &[T], matrices: &mut [T]) {
        let matrices = matrices.chunks_exact_mut(self.rows() * self.columns());
        for (number, matrix) in matrices.enumerate() {
            self.unfold(&images[number * self.image()..][..self.image()], matrix);
        }
    }

    /// Folds matrix after matrix.
    pub(super) fn fold_all<T: Compute>(&self, matrices: &[T], images: &mut [T]) {
        let matrices = matrices.chunks_exact(self.rows() * self.columns());
        for (matrix, image) in matrices.zip(images.chunks_exact_mut(self.image())) {
            self.fold(matrix, image);
        }
    }
}
