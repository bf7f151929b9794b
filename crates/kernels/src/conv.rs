//! Convolutions over one to three spatial axes: each image becomes a matrix of its windows, which is
//! multiplied with the weights.

mod columns;

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

use crate::scalar::compute::Compute;
use columns::Geometry;

/// How windows lie on spatial axes, one entry per axis.
#[derive(Clone, Copy, Debug)]
pub struct Windows<'a> {
    /// The number of elements of a window.
    pub kernel: &'a [usize],
    /// The distance between windows.
    pub stride: &'a [usize],
    /// Zeros in front of the axis.
    pub before: &'a [usize],
    /// Zeros behind the axis.
    pub after: &'a [usize],
    /// The distance between the elements of a window.
    pub dilation: &'a [usize],
}

impl Windows<'_> {
    /// How many windows lie on axes of these sizes.
    ///
    /// ```
    /// use fluvial_kernels::Windows;
    /// let windows =
    ///     Windows { kernel: &[3], stride: &[2], before: &[1], after: &[1], dilation: &[1] };
    /// assert_eq!(windows.count(&[6])?.as_slice(), [3]);
    /// assert!(windows.count(&[0]).is_err());
    /// # Ok::<(), fluvial_tensor::Error>(())
    /// ```
    pub fn count(&self, sizes: &[usize]) -> Result<SmallVec<[usize; 4]>> {
        sizes.iter().enumerate().map(|(i, &size)| self.count_on(i, size)).collect()
    }

    fn count_on(&self, axis: usize, size: usize) -> Result<usize> {
        let (kernel, dilation) = (self.kernel[axis], self.dilation[axis]);
        let (before, after, stride) = (self.before[axis], self.after[axis], self.stride[axis]);
        if kernel == 0 || stride == 0 || dilation == 0 {
            return Err(Error::argument(format!(
                "spatial axis {axis} has a kernel of {kernel}, a stride of {stride} and a dilation \
                 of {dilation}"
            ))
            .remedy("they must be at least 1"));
        }
        let reach = (kernel - 1).checked_mul(dilation).and_then(|reach| reach.checked_add(1));
        let padded = before.checked_add(after).and_then(|padding| padding.checked_add(size));
        let (Some(reach), Some(padded)) = (reach, padded) else {
            return Err(Error::argument("the kernel or the padding is beyond all sizes"));
        };
        match padded.checked_sub(reach) {
            Some(free) => Ok(free / stride + 1),
            None => Err(Error::shape(format!(
                "a kernel of {kernel} with dilation {dilation} reaches over {reach} elements, but \
                 spatial axis {axis} has {size}, with padding {padded}"
            ))
            .remedy("use a smaller kernel or dilation, or more padding")),
        }
    }
}

/// Slides the kernels `weight`, of shape `[out, in / groups, ..]`, over `x`, of shape
/// `[batch, in, ..]`, and gives `[batch, out, ..]`.
pub fn conv(
    x: &Tensor,
    weight: &Tensor,
    windows: &Windows<'_>,
    groups: usize,
    dtype: DType,
) -> Result<Tensor> {
    let (plan, counts) = Plan::new(x.dims(), weight.dims(), windows, groups)?;
    let dims = with_spatial(x.dims()[0], weight.dims()[0], &counts);
    let (x, weight) = (plain(x, dtype)?, plain(weight, dtype)?);
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    match dtype.compute() {
        DType::F64 => plan.forward::<f64>(&x, &weight, &mut out)?,
        _ => plan.forward::<f32>(&x, &weight, &mut out)?,
    }
    out.cast(dtype)
}

/// The adjoint of [`conv()`] as a function of its input: spreads `y`, of shape `[batch, out, ..]`, over
/// spatial axes of these sizes, and gives `[batch, in, ..]`.
pub fn conv_transpose(
    y: &Tensor,
    weight: &Tensor,
    windows: &Windows<'_>,
    groups: usize,
    sizes: &[usize],
    dtype: DType,
) -> Result<Tensor> {
    let channels = weight.dims()[1] * groups;
    let dims = with_spatial(y.dims()[0], channels, sizes);
    let (plan, counts) = Plan::new(&dims, weight.dims(), windows, groups)?;
    same_windows(&counts, y)?;
    let (y, weight) = (plain(y, dtype)?, plain(weight, dtype)?);
    let mut out = Tensor::zeros(dtype.compute(), &dims)?;
    match dtype.compute() {
        DType::F64 => plan.transposed::<f64>(&y, &weight, &mut out)?,
        _ => plan.transposed::<f32>(&y, &weight, &mut out)?,
    }
    out.cast(dtype)
}

/// The adjoint of [`conv()`] as a function of its weight: `x` is `[batch, in, ..]`, `y` is
/// `[batch, out, ..]`, and the result `[out, in / groups, ..]`.
pub fn conv_weight_grad(
    x: &Tensor,
    y: &Tensor,
    windows: &Windows<'_>,
    groups: usize,
    dtype: DType,
) -> Result<Tensor> {
    let dims = with_spatial(y.dims()[1], x.dims()[1] / groups.max(1), windows.kernel);
    let (plan, counts) = Plan::new(x.dims(), &dims, windows, groups)?;
    same_windows(&counts, y)?;
    let (x, y) = (plain(x, dtype)?, plain(y, dtype)?);
    let mut out = Tensor::zeros(dtype.compute(), &dims)?;
    match dtype.compute() {
        DType::F64 => plan.weight_grad::<f64>(&x, &y, &mut out)?,
        _ => plan.weight_grad::<f32>(&x, &y, &mut out)?,
    }
    out.cast(dtype)
}

/// The windows of `x`, of shape `[batch, channels, ..]`, as columns of `[batch, channels * kernel, windows]`.
pub fn unfold(x: &Tensor, windows: &Windows<'_>) -> Result<Tensor> {
    let counts = windows.count(&x.dims()[2..])?;
    let geometry = Geometry::new(x.dims()[1], &x.dims()[2..], &counts, windows);
    let dtype = x.dtype();
    let dims = [x.dims()[0], geometry.rows(), geometry.columns()];
    let x = plain(x, dtype)?;
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    if out.numel() > 0 {
        match dtype.compute() {
            DType::F64 => geometry.unfold_all::<f64>(slice(&x)?, out.as_mut_slice()?),
            _ => geometry.unfold_all::<f32>(slice(&x)?, out.as_mut_slice()?),
        }
    }
    out.cast(dtype)
}

/// The adjoint of [`unfold`]: adds each column to its window of zeros with these spatial sizes.
pub fn fold(columns: &Tensor, windows: &Windows<'_>, sizes: &[usize]) -> Result<Tensor> {
    let counts = windows.count(sizes)?;
    let channels = columns.dims()[1] / windows.kernel.iter().product::<usize>();
    let geometry = Geometry::new(channels, sizes, &counts, windows);
    if columns.dims()[2] != geometry.columns() {
        return Err(Error::shape(format!(
            "{} columns where {} windows lie on {sizes:?}",
            columns.dims()[2],
            geometry.columns()
        )));
    }
    let dtype = columns.dtype();
    let mut out =
        Tensor::zeros(dtype.compute(), &with_spatial(columns.dims()[0], channels, sizes))?;
    let columns = plain(columns, dtype)?;
    if out.numel() > 0 {
        match dtype.compute() {
            DType::F64 => geometry.fold_all::<f64>(slice(&columns)?, out.as_mut_slice()?),
            _ => geometry.fold_all::<f32>(slice(&columns)?, out.as_mut_slice()?),
        }
    }
    out.cast(dtype)
}

/// The products that a convolution consists of: one per image and group.
struct Plan {
    batch: usize,
    groups: usize,
    /// The channels of a group behind the convolution.
    out_channels: usize,
    /// The windows on the channels of a group before it.
    geometry: Geometry,
}

impl Plan {
    /// For an input and a weight of these dims; with the number of windows per axis.
    fn new(
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

    fn forward<T: Compute>(&self, x: &Tensor, weight: &Tensor, out: &mut Tensor) -> Result<()> {
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let mut buffer = self.buffer::<T>()?;
        let buffer = buffer.as_mut_slice::<T>()?;
        let (x, weight, out) = (slice::<T>(x)?, slice::<T>(weight)?, out.as_mut_slice::<T>()?);
        for part in 0..self.batch * self.groups {
            let group = part % self.groups;
            self.geometry.unfold(&x[part * image..][..image], buffer);
            product(
                [self.out_channels, rows, columns],
                Factor::rows(&weight[group * kernels..][..kernels], rows),
                Factor::rows(buffer, columns),
                &mut out[part * result..][..result],
                false,
            );
        }
        Ok(())
    }

    fn transposed<T: Compute>(&self, y: &Tensor, weight: &Tensor, out: &mut Tensor) -> Result<()> {
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let mut buffer = self.buffer::<T>()?;
        let buffer = buffer.as_mut_slice::<T>()?;
        let (y, weight, out) = (slice::<T>(y)?, slice::<T>(weight)?, out.as_mut_slice::<T>()?);
        for part in 0..self.batch * self.groups {
            let group = part % self.groups;
            product(
                [rows, self.out_channels, columns],
                Factor::columns(&weight[group * kernels..][..kernels], rows),
                Factor::rows(&y[part * result..][..result], columns),
                buffer,
                false,
            );
            self.geometry.fold(buffer, &mut out[part * image..][..image]);
        }
        Ok(())
    }

    fn weight_grad<T: Compute>(&self, x: &Tensor, y: &Tensor, out: &mut Tensor) -> Result<()> {
        let (image, kernels, result) = self.sizes();
        let (rows, columns) = (self.geometry.rows(), self.geometry.columns());
        let mut buffer = self.buffer::<T>()?;
        let buffer = buffer.as_mut_slice::<T>()?;
        let (x, y, out) = (slice::<T>(x)?, slice::<T>(y)?, out.as_mut_slice::<T>()?);
        for part in 0..self.batch * self.groups {
            let group = part % self.groups;
            self.geometry.unfold(&x[part * image..][..image], buffer);
            product(
                [self.out_channels, columns, rows],
                Factor::rows(&y[part * result..][..result], columns),
                Factor::columns(buffer, columns),
                &mut out[group * kernels..][..kernels],
                true,
            );
        }
        Ok(())
    }

    /// Memory for the windows of one group.
    fn buffer<T: Compute>(&self) -> Result<Tensor> {
        Tensor::empty(T::DTYPE, &[self.geometry.rows(), self.geometry.columns()])
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

/// The tensor without gaps, in the type that `dtype` is computed in.
fn plain(x: &Tensor, dtype: DType) -> Result<Tensor> {
    x.cast(dtype.compute())?.contiguous()
}

fn slice<T: Compute>(x: &Tensor) -> Result<&[T]> {
    x.as_slice().ok_or_else(|| Error::internal("a tensor without gaps has no slice"))
}

fn with_spatial(batch: usize, channels: usize, spatial: &[usize]) -> SmallVec<[usize; 8]> {
    [batch, channels].iter().chain(spatial).copied().collect()
}

fn same_windows(counts: &[usize], y: &Tensor) -> Result<()> {
    match y.dims()[2..] == *counts {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "spatial sizes {:?} where the windows are {counts:?}",
            &y.dims()[2..]
        ))),
    }
}

#[cfg(test)]
mod tests;
