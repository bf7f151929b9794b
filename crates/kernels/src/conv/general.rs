//! Any convolution as products of matrices: one per image and group, or per run of small images.

use std::ops::Range;

use fluvial_tensor::{Error, Result, Tensor};
use smallvec::SmallVec;

use crate::conv::columns::Geometry;
use crate::conv::parallel::{Shared, buffer, run, share};
use crate::conv::{Windows, slice};
use crate::scalar::compute::Compute;

/// The most tasks that the images and groups are split into.
const MOST_TASKS: usize = 64;

/// Fewer multiplications than this are not worth a task of their own.
const LEAST_WORK: usize = 1 << 17;

/// The most runs of images whose gradients are summed apart, and the most elements of these sums.
const MOST_RUNS: usize = 8;
const MOST_PARTIAL_SUMS: usize = 1 << 23;

/// The products that a convolution consists of: one per image and group.
pub(super) struct Plan {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// The channels of a group behind the convolution.
    pub(super) out_channels: usize,
    /// The windows on the channels of a group before it.
    pub(super) geometry: Geometry,
}

impl Plan {
    /// For an input and a weight of these dims; with the number of windows per axis.
    pub(super) fn new(
        x: &[usize],
        weight: &[usize],
        windows: &Windows<'_>,
        groups: usize,
    ) -> Result<(Plan, SmallVec<[usize; 4]>)> {
        let fits = x.len() == windows.kernel.len() + 2
            && weight.len() == x.len()
            && (1..=3).contains(&windows.kernel.len())
            && groups > 0
            && weight[0].is_multiple_of(groups)
            && x[1] == weight[1] * groups;
        if !fits {
            return Err(Error::shape(format!(
                "an input of shape {x:?} and a weight of shape {weight:?} in {groups} groups do not fit"
            )));
        }
        let counts = windows.count(&x[2..])?;
        let geometry = Geometry::new(weight[1], &x[2..], &counts, windows);
        Ok((Plan { batch: x[0], groups, out_channels: weight[0] / groups, geometry }, counts))
    }

    /// The elements of one group of the input, the weight and the output.
    fn sizes(&self) -> (usize, usize, usize) {
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        (self.geometry.image(), self.out_channels * rows, self.out_channels * columns)
    }

    pub(super) fn forward<T: Compute>(
        &self,
        x: &Tensor,
        weight: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        if self.is_batched() {
            return self.forward_batched::<T>(x, weight, out);
        }
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let (x, weight) = (slice::<T>(x)?, slice::<T>(weight)?);
        let out = Shared::new(out.as_mut_slice::<T>()?);
        self.each_part(0..self.batch * self.groups, |part, matrix| {
            let group = part % self.groups;
            self.geometry.unfold(&x[part * image..][..image], matrix);
            // SAFETY: each part has its own result.
            let out = unsafe { out.part(part * result, result) };
            let weight = &weight[group * kernels..][..kernels];
            product(
                [self.out_channels, rows, columns],
                Factor::rows(weight, rows),
                Factor::rows(matrix, columns),
                out,
                false,
            );
        })
    }

    pub(super) fn transposed<T: Compute>(
        &self,
        y: &Tensor,
        weight: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        if self.is_batched() {
            return self.transposed_batched::<T>(y, weight, out);
        }
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let (y, weight) = (slice::<T>(y)?, slice::<T>(weight)?);
        let out = Shared::new(out.as_mut_slice::<T>()?);
        self.each_part(0..self.batch * self.groups, |part, matrix| {
            let group = part % self.groups;
            let weight = &weight[group * kernels..][..kernels];
            product(
                [rows, self.out_channels, columns],
                Factor::columns(weight, rows),
                Factor::rows(&y[part * result..][..result], columns),
                matrix,
                false,
            );
            // SAFETY: each part has its own image.
            let out = unsafe { out.part(part * image, image) };
            out.fill(T::default());
            self.geometry.fold(matrix, out);
        })
    }

    /// The images are summed in a fixed number of runs, and these in order.
    pub(super) fn weight_grad<T: Compute>(
        &self,
        x: &Tensor,
        y: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        if self.is_batched_for_weights() {
            return self.weight_grad_batched::<T>(x, y, out);
        }
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let (x, y, out) = (slice::<T>(x)?, slice::<T>(y)?, out.as_mut_slice::<T>()?);
        let all_kernels = out.len();
        let most = (MOST_PARTIAL_SUMS / all_kernels.max(1)).clamp(1, MOST_RUNS);
        let n_runs = self.batch.clamp(1, most);
        let mut sums = buffer::<T>(n_runs * all_kernels)?;
        let shared = Shared::new(sums.as_mut_slice::<T>()?);
        run(n_runs * self.groups, |task| {
            let (run, group) = (task / self.groups, task % self.groups);
            // SAFETY: each task has its own sum.
            let sum = unsafe { shared.part(run * all_kernels + group * kernels, kernels) };
            sum.fill(T::default());
            let mut matrix = buffer::<T>(rows * columns)?;
            let matrix = matrix.as_mut_slice::<T>()?;
            for image_number in share(self.batch, n_runs, run, 1) {
                let part = image_number * self.groups + group;
                self.geometry.unfold(&x[part * image..][..image], matrix);
                product(
                    [self.out_channels, columns, rows],
                    Factor::rows(&y[part * result..][..result], columns),
                    Factor::columns(matrix, columns),
                    sum,
                    true,
                );
            }
            Ok(())
        })?;
        let sums = slice::<T>(&sums)?;
        out.copy_from_slice(&sums[..all_kernels]);
        for run in 1..n_runs {
            let sums = &sums[run * all_kernels..][..all_kernels];
            out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = out.plus(sum));
        }
        Ok(())
    }

    /// Calls `f` with the number of each part and memory for its windows, in tasks of about equal work.
    fn each_part<T: Compute>(
        &self,
        parts: Range<usize>,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        let windows = self.geometry.rows() * self.geometry.columns();
        let work = parts.len() * windows * self.out_channels;
        let n_tasks = parts.len().min(MOST_TASKS).min(work / LEAST_WORK + 1);
        run(n_tasks, |task| {
            let mut matrix = buffer::<T>(windows)?;
            let matrix = matrix.as_mut_slice::<T>()?;
            share(parts.len(), n_tasks, task, 1).for_each(|part| f(part, matrix));
            Ok(())
        })
    }
}

/// A matrix in memory without gaps, or the transpose of one.
#[derive(Clone, Copy)]
struct Factor<'a, T> {
    data: &'a [T],
    row_stride: isize,
    column_stride: isize,
}

impl<'a, T> Factor<'a, T> {
    /// A matrix in rows of this length.
    fn rows(data: &'a [T], len: usize) -> Factor<'a, T> {
        Factor { data, row_stride: len as isize, column_stride: 1 }
    }

    /// The transpose of a matrix in rows of this length.
    fn columns(data: &'a [T], len: usize) -> Factor<'a, T> {
        Factor { data, row_stride: 1, column_stride: len as isize }
    }
}

/// Writes the product of `m` x `k` and `k` x `n` to `out`, or adds it.
fn product<T: Compute>(
    [m, k, n]: [usize; 3],
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    out: &mut [T],
    add: bool,
) {
    let out = &mut out[..m * n];
    if m * n * k == 0 {
        if !add {
            out.fill(T::default());
        }
        return;
    }
    let (left, right) = (&a.data[..m * k], &b.data[..k * n]);
    // SAFETY: `T` is f32 or f64, which gemm has. The factors hold `m * k` and `k * n` elements without
    // gaps, by rows or by columns, and `out` has `m * n`, in rows of `n`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            add,
            left.as_ptr(),
            a.column_stride,
            a.row_stride,
            right.as_ptr(),
            b.column_stride,
            b.row_stride,
            T::from_f64(1.0),
            T::from_f64(1.0),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
