//! `max_unpool`: elements put back where a max pool took them from.

use super::geometry::{are_places, is_float};
use super::pool_pick::PoolPick;
use crate::maximum;
use crate::prelude::*;

options! {
    /// How the windows of the pool lay, for [`max_unpool1d`], [`max_unpool2d`] and [`max_unpool3d`].
    pub struct MaxUnpoolOptions {
        /// The distance between windows; if empty, that of the kernel.
        pub stride: PerAxis = PerAxis::default(),
        /// The padding of the pool.
        pub padding: PerAxis = 0.into(),
        /// The sizes of what was pooled, where several have the same number of windows; if empty,
        /// the least of them.
        pub size: Vec<usize> = Vec::new(),
    }
}

/// Zeros with each element at its position on the last axis, as PyTorch's `max_unpool1d`. Of
/// elements of the same position, the mean is taken.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, places) = (Var::of(&[3.0, 4.0], &[1, 2])?, Var::of(&[1i64, 2], &[1, 2])?);
/// let y = max_unpool1d(&x, &places, 2usize.into(), MaxUnpoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 3.0, 4.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_unpool1d(
    x: &Var,
    indices: &Var,
    kernel: PerAxis,
    options: MaxUnpoolOptions,
) -> Result<Var> {
    unpooled("max_unpool1d", 1, x, indices, &kernel, &options)
}

/// Zeros with each element at its position, counted over the last two axes, as PyTorch's
/// `max_unpool2d`. Of elements of the same position, the mean is taken.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, places) = (Var::of(&[3.0], &[1, 1, 1])?, Var::of(&[2i64], &[1, 1, 1])?);
/// let y = max_unpool2d(&x, &places, 2usize.into(), MaxUnpoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 0.0, 3.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_unpool2d(
    x: &Var,
    indices: &Var,
    kernel: PerAxis,
    options: MaxUnpoolOptions,
) -> Result<Var> {
    unpooled("max_unpool2d", 2, x, indices, &kernel, &options)
}

/// Zeros with each element at its position, counted over the last three axes, as PyTorch's
/// `max_unpool3d`. Of elements of the same position, the mean is taken.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, places) = (Var::of(&[3.0], &[1, 1, 1, 1])?, Var::of(&[2i64], &[1, 1, 1, 1])?);
/// let y = max_unpool3d(&x, &places, [1, 2, 2].into(), MaxUnpoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 0.0, 3.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_unpool3d(
    x: &Var,
    indices: &Var,
    kernel: PerAxis,
    options: MaxUnpoolOptions,
) -> Result<Var> {
    unpooled("max_unpool3d", 3, x, indices, &kernel, &options)
}

#[track_caller]
fn unpooled(
    name: &str,
    n_axes: usize,
    x: &Var,
    indices: &Var,
    kernel: &PerAxis,
    options: &MaxUnpoolOptions,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let types = (x.clone().check()?.ty(), indices.clone().check()?.ty());
    let unpooled = || {
        is_float(&types.0)?;
        are_places(&types.1, n_axes, &types.0)?;
        let sizes = sizes(n_axes, &types.0, kernel, options)?;
        let op = MaxUnpool { sizes };
        let sums = bind1(op.clone(), &[x, indices])?;
        let counts = bind1(op, &[&fill(1.0, &types.0)?, indices])?;
        div(&sums, &maximum(&counts, &fill(1.0, &counts.ty())?)?)
    };
    unpooled().map_err(|error| error.in_op(name, &[&types.0, &types.1]).at(loc))
}

fn sizes(
    n_axes: usize,
    x: &Type,
    kernel: &PerAxis,
    options: &MaxUnpoolOptions,
) -> Result<Vec<Dim>> {
    if !options.size.is_empty() {
        return Ok(dims_of(&PerAxis::from(options.size.clone()).of(n_axes)?));
    }
    let no_stride = options.stride.as_slice().is_empty();
    let stride = if no_stride { kernel } else { &options.stride }.of(n_axes)?;
    let (kernel, padding) = (kernel.of(n_axes)?, options.padding.of(n_axes)?);
    let of_axis = |i: usize| {
        let steps = x.dim(x.rank() - n_axes + i).sub(Dim::size(1))?.mul(Dim::size(stride[i]))?;
        steps.add(Dim::size(kernel[i]))?.sub(Dim::size(padding[i].saturating_mul(2)))
    };
    (0..n_axes).map(of_axis).collect()
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "max_unpool", text: include_str!("max_unpool.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("max_unpool.wgsl"),
    args: &["x", "places", "y", "planes", "size", "count"],
    count: |n| n[3].int().saturating_mul(n[4].int()),
};

attributes! {
    /// The op behind [`max_unpool2d`] and its like: adds each element at its position to zeros.
    pub struct MaxUnpool = "max_unpool" {
        /// The sizes of the last axes of the result.
        pub sizes: Vec<Dim>,
    }
}

impl Op for MaxUnpool {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, places) = (inputs[0], inputs[1]);
        are_places(places, self.sizes.len(), x)?;
        if places.dims() != x.dims() {
            return Err(Error::shape(format!("the positions {places} are not as many as {x}")));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(x.dims());
        let leading = x.rank() - self.sizes.len();
        dims[leading..].copy_from_slice(&self.sizes);
        Ok(smallvec![x.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (x, places) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let sizes = known_sizes(&outs[0])?;
        let sizes = &sizes[sizes.len() - self.sizes.len()..];
        Ok(smallvec![kernels::pool_scatter(x, places, sizes)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::position(1, count_of(&self.sizes)?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let axes = p.op::<MaxUnpool>()?.sizes.len();
            grads![p => bind1(PoolPick { axes }, &[&p.dy(), &p.x(1)]), None]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let leading = inputs[1].rank() - self.sizes.len();
        let (full, places) = (&outs[0].dims(), inputs[1].dims());
        let sizes = [
            kernel::count(&full[..leading])?,
            kernel::count(&full[leading..])?,
            kernel::count(&places[leading..])?,
        ];
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0)].into_iter().chain(sizes.map(Arg::Size));
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MaxUnpool::NAME, MaxUnpool::build, || {
    let of = |sizes: &[usize]| MaxUnpool { sizes: dims_of(sizes) };
    let x = f64s(&[1.0, 2.0, 3.0], &[1, 3]);
    vec![
        Sample::new(of(&[4]), [x.clone(), i64s(&[3, 0, 3], &[1, 3])])
            .gives([f64s(&[2.0, 0.0, 0.0, 4.0], &[1, 4])]),
        Sample::new(of(&[4]), [x.clone(), i64s(&[1, -1, 0], &[1, 3])])
            .gives([f64s(&[3.0, 1.0, 0.0, 0.0], &[1, 4])]),
        Sample::new(of(&[2, 2]), [ramp(&[2, 1, 1, 3]), i64s(&[3, 0, 3, 1, 1, 2], &[2, 1, 1, 3])]),
        Sample::new(of(&[4]), [x.clone(), i64s(&[4, 0, 3], &[1, 3])]).refused("out of range"),
        Sample::new(of(&[4]), [x.clone(), i64s(&[0, 1], &[1, 2])]).refused("not as many"),
        Sample::new(of(&[4]), [x.clone(), x]).refused("positions are i64"),
    ]
});
