//! Convolutions over one to three spatial axes.
//!
//! `general` serves every shape: each image becomes a matrix of its windows, which is multiplied with
//! the weights. `choose` says which shapes have a faster way.

mod batched;
mod choose;
mod columns;
mod general;
mod merge;
mod parallel;
#[cfg(target_arch = "x86_64")]
mod wide;

use fluvial_tensor::{DType, Error, Result, Tensor};
use smallvec::SmallVec;

use crate::scalar::compute::Compute;
use choose::{Planes, Way};
use columns::Geometry;
use general::Plan;

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
    if let Some(n) = merged(&weight, groups) {
        return conv(&x, &merge::spread(&weight, groups, n)?, windows, groups / n, dtype);
    }
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    match dtype.compute() {
        DType::F64 => plan.forward::<f64>(&x, &weight, &mut out)?,
        _ => match Planes::new(x.dims(), weight.dims(), &counts, windows, groups) {
            Some(planes) => forward(planes.forward_way(), &planes, &plan, &x, &weight, &mut out)?,
            None => plan.forward::<f32>(&x, &weight, &mut out)?,
        },
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
    if let Some(n) = merged(&weight, groups) {
        let weight = merge::spread(&weight, groups, n)?;
        return conv_transpose(&y, &weight, windows, groups / n, sizes, dtype);
    }
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    match dtype.compute() {
        DType::F64 => plan.transposed::<f64>(&y, &weight, &mut out)?,
        _ => match Planes::new(&dims, weight.dims(), &counts, windows, groups) {
            Some(planes) => transposed(planes.data_way(), &planes, &plan, &y, &weight, &mut out)?,
            None => plan.transposed::<f32>(&y, &weight, &mut out)?,
        },
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
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    if let Some(n) = merged(&out, groups) {
        let dense = conv_weight_grad(&x, &y, windows, groups / n, out.dtype())?;
        return merge::gather(&dense, groups, n)?.cast(dtype);
    }
    match dtype.compute() {
        DType::F64 => plan.weight_grad::<f64>(&x, &y, &mut out)?,
        _ => match Planes::new(x.dims(), &dims, &counts, windows, groups) {
            Some(planes) => weight_grad(planes.weights_way(), &planes, &plan, &x, &y, &mut out)?,
            None => plan.weight_grad::<f32>(&x, &y, &mut out)?,
        },
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

/// [`conv()`] of `f32` without gaps in this way.
fn forward(
    way: Way,
    planes: &Planes,
    plan: &Plan,
    x: &Tensor,
    weight: &Tensor,
    out: &mut Tensor,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        let job = wide::Job::forward(planes);
        if let Some(kernel) = wide::kernel(way) {
            return kernel(&job, slice(x)?, slice(weight)?, out.as_mut_slice()?);
        }
    }
    let _ = (way, planes);
    plan.forward::<f32>(x, weight, out)
}

/// [`conv_transpose`] of `f32` without gaps in this way.
fn transposed(
    way: Way,
    planes: &Planes,
    plan: &Plan,
    y: &Tensor,
    weight: &Tensor,
    out: &mut Tensor,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if way == Way::Phases
        && let (Some(rows), Some(columns)) = (planes.phases(0), planes.phases(1))
    {
        let (y, weight, out) = (slice(y)?, slice(weight)?, out.as_mut_slice()?);
        return wide::phases::phases(planes, [&rows, &columns], y, weight, out);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(job) = wide::Job::backward(planes)
        && let Some(kernel) = wide::kernel(way)
    {
        return kernel(&job, slice(y)?, slice(weight)?, out.as_mut_slice()?);
    }
    let _ = (way, planes);
    plan.transposed::<f32>(y, weight, out)
}

/// [`conv_weight_grad`] of `f32` without gaps in this way.
fn weight_grad(
    way: Way,
    planes: &Planes,
    plan: &Plan,
    x: &Tensor,
    y: &Tensor,
    out: &mut Tensor,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    {
        let job = wide::Job::forward(planes);
        if let Some(kernel) = wide::weights_kernel(way) {
            return kernel(&job, slice(x)?, slice(y)?, out.as_mut_slice()?);
        }
    }
    let _ = (way, planes);
    plan.weight_grad::<f32>(x, y, out)
}

/// How many groups are merged to one.
fn merged(weight: &Tensor, groups: usize) -> Option<usize> {
    let is_single = weight.dtype() == DType::F32 && weight.numel() > 0;
    is_single.then(|| merge::merged(weight.dims(), groups))?
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
