//! What the pools share: how windows lie on the last axes.

use crate::prelude::*;

/// How windows lie on the last axes, one entry per axis.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    pub padding: Vec<usize>,
    pub dilation: Vec<usize>,
    pub ceil_mode: bool,
}

impl Geometry {
    /// For so many axes; no stride means that of the kernel.
    pub fn of(
        n_axes: usize,
        kernel: &PerAxis,
        stride: &PerAxis,
        padding: &PerAxis,
        dilation: &PerAxis,
        ceil_mode: bool,
    ) -> Result<Geometry> {
        let stride = if stride.as_slice().is_empty() { kernel } else { stride };
        let of = |given: &PerAxis| given.of(n_axes).map(|all| all.to_vec());
        let (kernel, stride) = (of(kernel)?, of(stride)?);
        Ok(Geometry { kernel, stride, padding: of(padding)?, dilation: of(dilation)?, ceil_mode })
    }

    /// The number of axes.
    pub fn n_axes(&self) -> usize {
        self.kernel.len()
    }

    /// The dims of what becomes of a value of this type.
    pub fn dims(&self, x: &Type) -> Result<SmallVec<[Dim; 8]>> {
        let n_axes = self.n_axes();
        let lists = [&self.stride, &self.padding, &self.dilation];
        if !(1..=3).contains(&n_axes) || lists.iter().any(|list| list.len() != n_axes) {
            return Err(Error::argument(
                "kernel, stride, padding and dilation are not of 1 to 3 axes",
            ));
        }
        has_axes(x, n_axes)?;
        let leading = x.rank() - n_axes;
        let mut dims = SmallVec::from_slice(x.dims());
        for i in 0..n_axes {
            dims[leading + i] = self.count(i, x.dim(leading + i))?;
        }
        Ok(dims)
    }

    /// How many windows lie on axis `i`, of this size.
    fn count(&self, i: usize, size: Dim) -> Result<Dim> {
        let (kernel, stride) = (self.kernel[i], self.stride[i]);
        let (padding, dilation) = (self.padding[i], self.dilation[i]);
        if kernel == 0 || stride == 0 || dilation == 0 {
            return Err(Error::argument(format!(
                "axis {i} has a kernel of {kernel}, a stride of {stride} and a dilation of {dilation}"
            ))
            .remedy("they must be at least 1"));
        }
        let reach = (kernel - 1).saturating_mul(dilation).saturating_add(1);
        if padding > reach / 2 {
            return Err(Error::argument(format!(
                "a padding of {padding} is more than half of the {reach} elements that a kernel of \
                 {kernel} with dilation {dilation} reaches over"
            ))
            .remedy("use less padding, or pad first"));
        }
        let both = padding.saturating_mul(2);
        // Rounding up counts a last window that is cut off, if it starts before the padding behind.
        let (more, less) = match self.ceil_mode {
            false => (both, reach),
            true if padding.saturating_add(stride) <= reach => (both + stride - 1, reach),
            true => (padding, 1),
        };
        let fits = size.value().is_none_or(|size| size > 0 && size.saturating_add(more) >= less);
        if !fits {
            return Err(Error::shape(format!(
                "a kernel of {kernel} with dilation {dilation} reaches over {reach} elements, but \
                 spatial axis {i} has {size}, with padding {padding} on both sides"
            ))
            .remedy("use a smaller kernel, more padding, or `ceil_mode`"));
        }
        let free = size.add(Dim::size(more))?.sub(Dim::size(less))?;
        free.floor_div(Dim::size(stride))?.add(Dim::size(1))
    }

    /// The windows on a tensor of these dims. Sums are divided by the number of elements of the
    /// kernel, or of those that lie in the tensor.
    pub fn windows(
        &self,
        dims: &[usize],
        count_padding: bool,
    ) -> Result<Vec<Vec<kernels::Window>>> {
        let sizes = &dims[dims.len() - self.n_axes()..];
        let on_axis = |(i, &size): (usize, &usize)| {
            let count = known_size(self.count(i, Dim::size(size))?)?;
            Ok((0..count).map(|window| self.window(i, window, size, count_padding)).collect())
        };
        sizes.iter().enumerate().map(on_axis).collect()
    }

    fn window(&self, i: usize, number: usize, size: usize, count_padding: bool) -> kernels::Window {
        let (kernel, padding, step) = (self.kernel[i], self.padding[i], self.dilation[i]);
        let first = number * self.stride[i];
        let skipped = padding.saturating_sub(first).div_ceil(step).min(kernel);
        let end = (size + padding).saturating_sub(first).div_ceil(step).min(kernel);
        let len = end.saturating_sub(skipped);
        let start = (first + skipped * step).saturating_sub(padding);
        let divisor = match count_padding {
            true => kernel.min((size + 2 * padding).saturating_sub(first)),
            false => len,
        };
        kernels::Window { start, len, step, divisor }
    }
}

/// Windows, in C.
pub(crate) static POOL: Source = Source { name: "pool", text: include_str!("pool.c"), needs: &[] };

/// The number of planes, and how windows lie on three axes of each: for functions in C.
pub(crate) fn native_args(geometry: &Geometry, x: &Type, y: &Type) -> Result<[Arg; 2]> {
    let (n_axes, leading) = (geometry.n_axes(), x.rank() - geometry.n_axes());
    let of = |list: &[usize]| list.iter().map(|&n| Dim::size(n)).collect::<Vec<_>>();
    let lists = [
        (x.dims()[leading..].to_vec(), 1),
        (of(&geometry.kernel), 1),
        (y.dims()[leading..].to_vec(), 1),
        (of(&geometry.stride), 1),
        (of(&geometry.padding), 0),
        (of(&geometry.dilation), 1),
    ];
    let mut numbers: SmallVec<[Dim; 8]> = SmallVec::new();
    for (list, filler) in lists {
        numbers.extend((0..3 - n_axes).map(|_| Dim::size(filler)));
        numbers.extend(list);
    }
    Ok([Arg::Size(kernel::count(&x.dims()[..leading])?), Arg::Sizes(numbers)])
}

/// Refuses what does not have a channel and so many axes behind it.
pub(crate) fn has_axes(x: &Type, n_axes: usize) -> Result<()> {
    match x.is_list() || x.dtype().is_bool() || x.rank() <= n_axes {
        false => Ok(()),
        true => Err(Error::shape(format!(
            "the input is {x}, expected numbers with channels and {n_axes} spatial axes"
        ))
        .remedy("reshape it to [batch, channels, ..] or [channels, ..]")),
    }
}

/// Refuses what is not a tensor of floats.
pub(crate) fn is_float(x: &Type) -> Result<()> {
    match x.is_float() && !x.is_list() {
        true => Ok(()),
        false => {
            Err(Error::dtype(format!("the input is {x}, expected floats")).remedy("cast it first"))
        }
    }
}

/// Refuses positions that are not i64 of the dims of the values they belong to.
pub(crate) fn are_places(places: &Type, n_axes: usize, x: &Type) -> Result<()> {
    has_axes(x, n_axes)?;
    if places.dtype() != DType::I64 || places.is_list() {
        return Err(Error::dtype(format!("positions are i64, found {places}")).remedy("cast them"));
    }
    let leading = x.rank() - n_axes;
    match places.rank() == x.rank() && places.dims()[..leading] == x.dims()[..leading] {
        true => Ok(()),
        false => Err(Error::shape(format!("the positions {places} do not belong to {x}"))
            .remedy("give the positions that the pool has given")),
    }
}
