//! The windows of an image as the columns of a matrix, and back.

use crate::conv::Windows;
use crate::scalar::compute::Compute;

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

    /// The rows of the matrix: the elements of a window.
    pub(super) fn rows(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// The columns of the matrix: the windows.
    pub(super) fn columns(&self) -> usize {
        self.count.iter().product()
    }

    /// The elements of the image.
    pub(super) fn image(&self) -> usize {
        self.channels * self.size.iter().product::<usize>()
    }

    /// Calls `f` with each run of windows along the last axis: where it starts in the matrix, the row of
    /// the image that it reads (nothing if that is padding), and its place in the kernel along the last
    /// axis.
    fn each_run(&self, mut f: impl FnMut(usize, Option<usize>, usize)) {
        let [depth, height, width] = self.size;
        let [count_depth, count_height, count_width] = self.count;
        let mut start = 0;
        for row in 0..self.rows() {
            let at_width = row % self.kernel[2];
            let at_height = row / self.kernel[2] % self.kernel[1];
            let at_depth = row / (self.kernel[2] * self.kernel[1]) % self.kernel[0];
            let channel = row / self.kernel.iter().product::<usize>();
            for z in 0..count_depth {
                let plane = self.position(0, z, at_depth);
                for y in 0..count_height {
                    let line = self.position(1, y, at_height);
                    let from = match (plane, line) {
                        (Some(plane), Some(line)) => {
                            Some(((channel * depth + plane) * height + line) * width)
                        }
                        _ => None,
                    };
                    f(start, from, at_width);
                    start += count_width;
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

    /// The windows along the last axis whose element lies in the image: a range, and the position of the
    /// first.
    fn inside(&self, element: usize) -> (std::ops::Range<usize>, usize) {
        let (stride, before, width) = (self.stride[2], self.before[2], self.size[2]);
        let offset = element * self.dilation[2];
        let first = before.saturating_sub(offset).div_ceil(stride).min(self.count[2]);
        let end = (width + before).saturating_sub(offset).div_ceil(stride).min(self.count[2]);
        let position = (first * stride + offset).saturating_sub(before);
        (first..end.max(first), position)
    }

    /// Writes the windows of an image to the columns of a matrix.
    pub(super) fn unfold<T: Compute>(&self, image: &[T], matrix: &mut [T]) {
        let stride = self.stride[2];
        self.each_run(|start, from, element| {
            let run = &mut matrix[start..][..self.count[2]];
            let (windows, position) = self.inside(element);
            let Some(from) = from.filter(|_| !windows.is_empty()) else {
                run.fill(T::default());
                return;
            };
            run[..windows.start].fill(T::default());
            run[windows.end..].fill(T::default());
            let row = &image[from + position..];
            let inside = &mut run[windows];
            match stride {
                1 => inside.copy_from_slice(&row[..inside.len()]),
                _ => inside.iter_mut().zip(row.iter().step_by(stride)).for_each(|(to, &x)| *to = x),
            }
        });
    }

    /// Adds the columns of a matrix to their windows of an image.
    pub(super) fn fold<T: Compute>(&self, matrix: &[T], image: &mut [T]) {
        let stride = self.stride[2];
        self.each_run(|start, from, element| {
            let (windows, position) = self.inside(element);
            let Some(from) = from.filter(|_| !windows.is_empty()) else { return };
            let run = &matrix[start..][windows];
            let row = image[from + position..].iter_mut().step_by(stride);
            row.zip(run).for_each(|(sum, &x)| *sum = sum.plus(x));
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
