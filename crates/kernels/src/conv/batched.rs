//! Convolutions of many small images as products of matrices: the windows of a run of images stand side by
//! side in one matrix.
//!
//! With few windows per image the weights are the larger factor; one product per image would read them anew
//! for each.

use fluvial_tensor::{Result, Tensor};

use crate::conv::columns::Table;
use crate::conv::general::Plan;
use crate::conv::parallel::{Shared, buffer, run, share};
use crate::conv::slice;
use crate::matmul::matmul;
use crate::scalar::compute::Compute;

/// The most windows of an image for which images share a product, and the same for the gradient of the
/// weights, for which the windows are summed over.
const MOST_WINDOWS: usize = 64;
const MOST_SUMMED_WINDOWS: usize = 1024;

/// The elements to aim at for the windows of a run of images.
const RUN: usize = 1 << 20;

/// The most tasks in which channels are unfolded or folded.
const TASKS: usize = 16;

impl Plan {
    /// Whether images share products.
    pub(super) fn is_batched(&self) -> bool {
        self.shares(MOST_WINDOWS)
    }

    /// Whether they do for the gradient of the weights.
    pub(super) fn is_batched_for_weights(&self) -> bool {
        self.shares(MOST_SUMMED_WINDOWS)
    }

    fn shares(&self, most_windows: usize) -> bool {
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        self.batch > 0 && rows * columns * self.out_channels > 0 && columns <= most_windows
    }

    /// Whether the only window of an image is the image: then nothing needs to be unfolded.
    fn is_whole(&self) -> bool {
        self.groups == 1 && self.geometry.is_whole()
    }

    /// Images or outputs as rows.
    fn as_rows(&self, x: &Tensor) -> Result<Tensor> {
        x.reshape(&[self.batch, x.numel() / self.batch])
    }

    /// The images of a run.
    fn run_len(&self) -> usize {
        let windows = (self.geometry.rows() * self.geometry.columns()).max(1);
        (RUN / windows).clamp(1, self.batch)
    }

    /// Calls `f` with each run of images and each group.
    fn each_run(
        &self,
        mut f: impl FnMut(std::ops::Range<usize>, usize) -> Result<()>,
    ) -> Result<()> {
        for first in (0..self.batch).step_by(self.run_len()) {
            for group in 0..self.groups {
                f(first..self.batch.min(first + self.run_len()), group)?;
            }
        }
        Ok(())
    }

    /// See [`conv`](super::conv()).
    pub(super) fn forward_batched<T: Compute>(
        &self,
        x: &Tensor,
        weight: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        let (n_out, columns) = (self.out_channels, self.geometry.columns());
        if self.is_whole() {
            let weight = self.weights_of(weight, 0)?.transpose(0, 1)?;
            return put::<T>(&matmul(&self.as_rows(x)?, &weight, T::DTYPE)?, out);
        }
        let x = slice::<T>(x)?;
        let out = Shared::new(out.as_mut_slice::<T>()?);
        let table = self.geometry.table()?;
        self.each_run(|images, group| {
            let matrix = self.unfold_run(&table, x, images.clone(), group)?;
            let product = matmul(&self.weights_of(weight, group)?, &matrix, T::DTYPE)?;
            let product = slice::<T>(&product)?;
            for (number, image) in images.clone().enumerate() {
                let start = (image * self.groups + group) * n_out * columns;
                // SAFETY: nobody else writes now.
                let out = unsafe { out.part(start, n_out * columns) };
                for (channel, to) in out.chunks_exact_mut(columns).enumerate() {
                    let from = (channel * images.len() + number) * columns;
                    to.copy_from_slice(&product[from..][..columns]);
                }
            }
            Ok(())
        })
    }

    /// See [`conv_transpose`](super::conv_transpose).
    pub(super) fn transposed_batched<T: Compute>(
        &self,
        y: &Tensor,
        weight: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        let columns = self.geometry.columns();
        let (image_len, channels) = (self.geometry.image(), self.geometry.channels());
        if self.is_whole() {
            let weight = self.weights_of(weight, 0)?;
            return put::<T>(&matmul(&self.as_rows(y)?, &weight, T::DTYPE)?, out);
        }
        let y = slice::<T>(y)?;
        let out = Shared::new(out.as_mut_slice::<T>()?);
        let table = self.geometry.table()?;
        self.each_run(|images, group| {
            let outputs = self.outputs_of(y, images.clone(), group)?;
            let outputs = outputs.transpose(0, 1)?;
            let matrix = matmul(&outputs, &self.weights_of(weight, group)?, T::DTYPE)?;
            let matrix = slice::<T>(&matrix)?;
            let rows = self.geometry.rows();
            let (taps, tasks) = (rows / channels, channels.min(TASKS));
            run(tasks, |task| {
                let mut memory = buffer::<T>(table.memory())?;
                let memory = memory.as_mut_slice::<T>()?;
                let plane = image_len / channels;
                for (number, image) in images.clone().enumerate() {
                    let matrix = &matrix[number * columns * rows..][..columns * rows];
                    for channel in share(channels, tasks, task, 1) {
                        let start = (image * self.groups + group) * image_len + channel * plane;
                        // SAFETY: each task has its own channels.
                        let to = unsafe { out.part(start, plane) };
                        table.fold(matrix, rows, channel * taps, memory, to);
                    }
                }
                Ok(())
            })
        })
    }

    /// See [`conv_weight_grad`](super::conv_weight_grad). Runs of images are summed in order.
    pub(super) fn weight_grad_batched<T: Compute>(
        &self,
        x: &Tensor,
        y: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        let kernels = self.out_channels * self.geometry.rows();
        if self.is_whole() {
            let outputs = self.as_rows(y)?.transpose(0, 1)?;
            return put::<T>(&matmul(&outputs, &self.as_rows(x)?, T::DTYPE)?, out);
        }
        let (x, y) = (slice::<T>(x)?, slice::<T>(y)?);
        let out = out.as_mut_slice::<T>()?;
        let table = self.geometry.table()?;
        self.each_run(|images, group| {
            let first = images.start == 0;
            let matrix = self.unfold_run(&table, x, images.clone(), group)?.transpose(0, 1)?;
            let product = matmul(&self.outputs_of(y, images, group)?, &matrix, T::DTYPE)?;
            let to = &mut out[group * kernels..][..kernels];
            let product = slice::<T>(&product)?;
            match first {
                true => to.copy_from_slice(product),
                false => to.iter_mut().zip(product).for_each(|(sum, &x)| *sum = sum.plus(x)),
            }
            Ok(())
        })
    }

    /// The weights of a group: a row for each output channel.
    fn weights_of(&self, weight: &Tensor, group: usize) -> Result<Tensor> {
        let rows = self.geometry.rows();
        let weight = weight.reshape(&[self.groups * self.out_channels, rows])?;
        weight.slice(0, group * self.out_channels, self.out_channels, 1)
    }

    /// The windows of images, of one group: `[elements of a window][images][windows]`.
    fn unfold_run<T: Compute>(
        &self,
        table: &Table,
        x: &[T],
        images: std::ops::Range<usize>,
        group: usize,
    ) -> Result<Tensor> {
        let (columns, image_len) = (self.geometry.columns(), self.geometry.image());
        let (channels, row_len) = (self.geometry.channels(), images.len() * columns);
        let mut matrix = Tensor::empty(T::DTYPE, &[self.geometry.rows(), row_len])?;
        let taps = self.geometry.rows() / channels;
        let (plane, tasks) = (image_len / channels, channels.min(TASKS));
        let to = Shared::new(matrix.as_mut_slice::<T>()?);
        run(tasks, |task| {
            let mut memory = buffer::<T>(table.memory())?;
            let memory = memory.as_mut_slice::<T>()?;
            for channel in share(channels, tasks, task, 1) {
                // SAFETY: each task has its own channels.
                let to = unsafe { to.part(channel * taps * row_len, taps * row_len) };
                for (number, image) in images.clone().enumerate() {
                    let from = (image * self.groups + group) * image_len + channel * plane;
                    let at = number * columns;
                    table.unfold(&x[from..][..plane], memory, to, row_len, at);
                }
            }
            Ok(())
        })?;
        Ok(matrix)
    }

    /// The outputs of images, of one group: `[channels][images][windows]`.
    fn outputs_of<T: Compute>(
        &self,
        y: &[T],
        images: std::ops::Range<usize>,
        group: usize,
    ) -> Result<Tensor> {
        let (n_out, columns) = (self.out_channels, self.geometry.columns());
        let mut outputs = Tensor::empty(T::DTYPE, &[n_out, images.len() * columns])?;
        let to = outputs.as_mut_slice::<T>()?;
        for (number, image) in images.clone().enumerate() {
            let from = &y[(image * self.groups + group) * n_out * columns..][..n_out * columns];
            for (channel, from) in from.chunks_exact(columns).enumerate() {
                let at = (channel * images.len() + number) * columns;
                to[at..][..columns].copy_from_slice(from);
            }
        }
        Ok(outputs)
    }
}

/// Copies a result to where it belongs.
fn put<T: Compute>(from: &Tensor, to: &mut Tensor) -> Result<()> {
    to.as_mut_slice::<T>()?.copy_from_slice(slice::<T>(from)?);
    Ok(())
}
