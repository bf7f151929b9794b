//! The windows of an image as the columns of a matrix, and back.

use std::ops::Range;

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
    /// The row of the matrix, and where the run starts in it.
    row: usize,
    start: usize,
    /// Where the image has the element of the first window; nothing if that is padding.
    from: Option<usize>,
    /// The first window whose element lies in the image, and the end of these.
    windows: [usize; 2],
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

    /// Calls `f` with each run of windows along the last axis, for the windows on these channels.
    fn each_run(&self, channels: Range<usize>, mut f: impl FnMut(Run)) {
        let [depth, height, width] = self.size;
        let [count_depth, count_height, count_width] = self.count;
        let inside: SmallVec<[_; 8]> = (0..self.kernel[2]).map(|at| self.inside(at)).collect();
        let mut row = 0;
        for channel in channels {
            for (at_depth, at_height) in pairs(self.kernel[0], self.kernel[1]) {
                for &(windows, position) in &inside {
                    let mut start = 0;
                    for (z, y) in pairs(count_depth, count_height) {
                        let plane = self.position(0, z, at_depth);
                        let from =
                            plane.zip(self.position(1, y, at_height)).map(|(plane, line)| {
                                ((channel * depth + plane) * height + line) * width + position
                            });
                        f(Run { row, start, from, windows });
                        start += count_width;
                    }
                    row += 1;
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
        self.unfold_part(0..self.channels, image, matrix, self.columns(), 0);
    }

    /// Writes the windows on these channels of an image to the rows of these channels in a matrix with
    /// rows of `row_len`, from column `at` on.
    pub(super) fn unfold_part<T: Compute>(
        &self,
        channels: Range<usize>,
        image: &[T],
        matrix: &mut [T],
        row_len: usize,
        at: usize,
    ) {
        let stride = self.stride[2];
        self.each_run(channels, |run| {
            let [first, end] = run.windows;
            let to = &mut matrix[run.row * row_len + at + run.start..][..self.count[2]];
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
        self.fold_part(0..self.channels, matrix, self.columns(), 0, image);
    }

    /// Adds columns of the rows of these channels to their windows of these channels; rows have a length
    /// of `row_len`, and the columns begin at `at`.
    pub(super) fn fold_part<T: Compute>(
        &self,
        channels: Range<usize>,
        matrix: &[T],
        row_len: usize,
        at: usize,
        image: &mut [T],
    ) {
        let stride = self.stride[2];
        let before = channels.start * self.size.iter().product::<usize>();
        self.each_run(channels, |run| {
            let [first, end] = run.windows;
            let Some(from) = run.from.filter(|_| first < end) else { return };
            let start = run.row * row_len + at + run.start;
            let terms = &matrix[start + first..start + end];
            let row = image[from - before..].iter_mut();
            match stride {
                1 => row.zip(terms).for_each(|(sum, &x)| *sum = sum.plus(x)),
                _ => row.step_by(stride).zip(terms).for_each(|(sum, &x)| *sum = sum.plus(x)),
            }
        });
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
