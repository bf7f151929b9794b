//! What the convolutions share: how kernels move, and what fits together.

use crate::prelude::*;
use fluvial_core::kernel::count as count_dims;

/// How kernels move over the spatial axes, and in how many groups channels are taken.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub stride: Vec<usize>,
    pub before: Vec<usize>,
    pub after: Vec<usize>,
    pub dilation: Vec<usize>,
    pub groups: usize,
}

impl Geometry {
    /// The number of spatial axes.
    pub fn n_axes(&self) -> usize {
        self.stride.len()
    }

    /// The number of windows of a kernel of these sizes on axes of these sizes.
    pub fn counts(&self, sizes: &[Dim], kernel: &[Dim]) -> Result<SmallVec<[Dim; 4]>> {
        let known = |dims: &[Dim]| dims.iter().map(|dim| dim.value()).collect::<Option<Vec<_>>>();
        if let (Some(sizes), Some(kernel)) = (known(sizes), known(kernel)) {
            let counts = self.windows(&kernel).count(&sizes)?;
            return Ok(counts.into_iter().map(Dim::size).collect());
        }
        let count = |i: usize| {
            let reach = kernel[i].sub(Dim::size(1))?.mul(Dim::size(self.dilation[i]))?;
            let padded = sizes[i].add(Dim::size(self.before[i]))?.add(Dim::size(self.after[i]))?;
            let free = padded.sub(reach)?.sub(Dim::size(1))?;
            free.floor_div(Dim::size(self.stride[i]))?.add(Dim::size(1))
        };
        (0..self.n_axes()).map(count).collect()
    }

    /// For the kernels.
    pub fn windows<'a>(&'a self, kernel: &'a [usize]) -> kernels::Windows<'a> {
        kernels::Windows {
            kernel,
            stride: &self.stride,
            before: &self.before,
            after: &self.after,
            dilation: &self.dilation,
        }
    }

    /// Refuses attributes that contradict each other, operands that are not floats, and operands
    /// without a batch, a channel and the spatial axes; gives the type they meet in.
    pub fn judge(&self, operands: &[(&str, &Type)]) -> Result<DType> {
        let n = self.n_axes();
        let alike = [&self.before, &self.after, &self.dilation].iter().all(|list| list.len() == n);
        if !alike || !(1..=3).contains(&n) {
            return Err(Error::argument("strides, padding and dilation are not of 1 to 3 axes"));
        }
        if self.stride.contains(&0) || self.dilation.contains(&0) {
            return Err(Error::argument(format!(
                "the stride is {:?} and the dilation {:?}",
                self.stride, self.dilation
            ))
            .remedy("they must be at least 1"));
        }
        if self.groups == 0 {
            return Err(Error::argument("there are 0 groups").remedy("use at least one"));
        }
        for (name, ty) in operands {
            if !ty.is_float() || ty.is_list() {
                return Err(Error::dtype(format!("the {name} is {ty}, expected floats"))
                    .remedy("cast it first"));
            }
            if ty.rank() != n + 2 {
                return Err(Error::shape(format!(
                    "the {name} has {} axes, expected {}: two, and {n} spatial ones",
                    ty.rank(),
                    n + 2
                ))
                .remedy("reshape it, or use the function for another number of axes"));
            }
        }
        Ok(operands[0].1.dtype().promote(operands[1].1.dtype()))
    }

    /// Refuses a number of channels that the groups do not divide.
    pub fn divides(&self, what: &str, channels: Dim) -> Result<Dim> {
        let groups = Dim::size(self.groups);
        let part = channels.floor_div(groups)?;
        match part.mul(groups)? == channels {
            true => Ok(part),
            false => Err(Error::shape(format!(
                "{channels} {what} channels are not divisible by {} groups",
                self.groups
            ))
            .remedy("use a number of groups that divides the channels")),
        }
    }
}

/// The elements under each place of a kernel, in C.
pub(crate) static COLUMNS: Source = Source {
    name: "columns",
    text: include_str!("columns.c"),
    needs: &[&crate::linalg::matmul::GEMM],
};

/// The arguments of a convolution in C, behind those of its operands: memory for columns, how windows lie on three axes, the batch, the groups,
/// and the channels of the input and of the output in each.
pub(crate) fn native_args(
    geometry: &Geometry,
    sizes: &[Dim],
    kernel: &[Dim],
    dtype: DType,
    [batch, ins, outs, of_columns]: [Dim; 4],
) -> Result<Vec<Arg>> {
    let counts = geometry.counts(sizes, kernel)?;
    let columns = of_columns.mul(count_dims(kernel)?)?.mul(count_dims(&counts)?)?;
    let work = Arg::Work(columns.mul(Dim::size(dtype.size()))?);
    let groups = Dim::size(geometry.groups);
    let channels = [batch, groups, ins.floor_div(groups)?, outs.floor_div(groups)?].map(Arg::Size);
    Ok([work, native_windows(geometry, sizes, kernel)?].into_iter().chain(channels).collect())
}

/// How windows lie on three axes, for functions in C.
pub(crate) fn native_windows(geometry: &Geometry, sizes: &[Dim], kernel: &[Dim]) -> Result<Arg> {
    let counts = geometry.counts(sizes, kernel)?;
    let extra = 3 - geometry.n_axes();
    let mut numbers: SmallVec<[Dim; 8]> = SmallVec::new();
    let of = |list: &[usize]| list.iter().map(|&n| Dim::size(n)).collect::<Vec<_>>();
    let lists = [
        (sizes.to_vec(), 1),
        (kernel.to_vec(), 1),
        (counts.to_vec(), 1),
        (of(&geometry.stride), 1),
        (of(&geometry.before), 0),
        (of(&geometry.dilation), 1),
    ];
    for (list, filler) in lists {
        numbers.extend((0..extra).map(|_| Dim::size(filler)));
        numbers.extend(list);
    }
    Ok(Arg::Sizes(numbers))
}

/// Refuses channels that are not those a weight has.
pub(crate) fn same_channels(found: Dim, expected: Dim, weight: &str) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "the input has {found} channels, but the weight takes {expected}: {weight}"
        ))
        .remedy("check the weight's shape and the groups")),
    }
}

/// The batch and the channels with spatial axes behind them.
pub(crate) fn with_spatial(batch: Dim, channels: Dim, spatial: &[Dim]) -> SmallVec<[Dim; 8]> {
    [batch, channels].iter().chain(spatial).copied().collect()
}

/// Applies `f` to `x` with a batch axis, which is added for it and taken away behind it if `x` has
/// but `n_axes` spatial axes and one of channels.
#[track_caller]
pub(crate) fn batched(x: &Var, n_axes: usize, f: impl FnOnce(&Var) -> Result<Var>) -> Result<Var> {
    let x = x.clone().check()?;
    if x.rank() != n_axes + 1 {
        return f(&x);
    }
    let with_batch: Vec<Dim> = [Dim::size(1)].into_iter().chain(x.dims()).collect();
    let y = f(&crate::shape::reshape(&x, &with_batch)?)?;
    crate::shape::reshape(&y, &y.dims()[1..])
}

/// Adds a bias per channel.
#[track_caller]
pub(crate) fn add_bias(y: &Var, bias: Option<&Var>, n_axes: usize) -> Result<Var> {
    let Some(bias) = bias else { return Ok(y.clone()) };
    let ty = bias.clone().check()?.ty();
    let channels = y.dims()[y.rank() - n_axes - 1];
    if ty.is_list() || ty.dims() != [channels] {
        return Err(Error::shape(format!("the bias is {ty}, but there are {channels} channels"))
            .remedy("give one number per output channel"));
    }
    let mut dims = vec![Dim::size(1); n_axes + 1];
    dims[0] = channels;
    add(y, &crate::shape::reshape(bias, &dims)?)
}
