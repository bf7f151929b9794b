//! `conv_transpose`: the adjoint of a convolution as a function of its input.

use super::geometry::{
    COLUMNS, Geometry, add_bias, batched, native_args, same_channels, with_spatial,
};
use super::{Conv, ConvWeightGrad};
use crate::batch::{folded_in_first, in_groups};
use crate::complex::by_parts::bilinear;
use crate::prelude::*;
use crate::shape::scatter_slice;

options! {
    /// How kernels move in [`conv_transpose1d`], [`conv_transpose2d`] and [`conv_transpose3d`].
    pub struct ConvTransposeOptions {
        /// The distance between windows on the output.
        pub stride: PerAxis = 1.into(),
        /// How much is cut from both sides of each axis of the output.
        pub padding: PerAxis = 0.into(),
        /// How much longer the end of each axis of the output is.
        pub output_padding: PerAxis = 0.into(),
        /// The distance between the elements of a kernel.
        pub dilation: PerAxis = 1.into(),
        /// In how many groups channels are taken, each with kernels of its own.
        pub groups: usize = 1usize,
    }
}

/// Spreads each element by a kernel over one spatial axis, as PyTorch's `conv_transpose1d`: `x` is
/// `[batch, in, length]` (or without the batch), `weight` is `[in, out / groups, kernel]`, `bias`
/// is `[out]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[1, 1, 2])?;
/// let weight = Var::of(&[1.0, 10.0, 100.0], &[1, 1, 3])?;
/// let y = conv_transpose1d(&x, &weight, None, ConvTransposeOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 12.0, 120.0, 200.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv_transpose1d(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: ConvTransposeOptions,
) -> Result<Var> {
    transposed("conv_transpose1d", 1, x, weight, bias, &options)
}

/// Spreads each element by a kernel over two spatial axes, as PyTorch's `conv_transpose2d`: `x` is
/// `[batch, in, height, width]` (or without the batch), `weight` is `[in, out / groups, ..]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// let weight = Var::of(&[1.0; 4], &[1, 1, 2, 2])?;
/// let y = conv_transpose2d(&x, &weight, None, ConvTransposeOptions::default().padding(1usize))?;
/// assert_eq!(y.to_vec::<f64>()?, [10.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv_transpose2d(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: ConvTransposeOptions,
) -> Result<Var> {
    transposed("conv_transpose2d", 2, x, weight, bias, &options)
}

/// Spreads each element by a kernel over three spatial axes, as PyTorch's `conv_transpose3d`: `x` is
/// `[batch, in, depth, height, width]` (or without the batch), `weight` is `[in, out / groups, ..]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[3.0], &[1, 1, 1, 1, 1])?;
/// let weight = Var::of(&[1.0, 2.0], &[1, 1, 1, 1, 2])?;
/// let y = conv_transpose3d(&x, &weight, None, ConvTransposeOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv_transpose3d(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: ConvTransposeOptions,
) -> Result<Var> {
    transposed("conv_transpose3d", 3, x, weight, bias, &options)
}

#[track_caller]
fn transposed(
    name: &str,
    n_axes: usize,
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: &ConvTransposeOptions,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::low();
    let (x, weight) = (&precision.of(x)?, &precision.of(weight)?);
    let bias = precision.maybe(bias)?;
    let bias = bias.as_ref();
    let types = (x.clone().check()?.ty(), weight.clone().check()?.ty());
    let spread = || {
        let y = batched(x, n_axes, |x| {
            bilinear(x, weight, |x, weight| spread(n_axes, x, weight, options))
        })?;
        add_bias(&y, bias, n_axes)
    };
    spread().map_err(|error| error.in_op(name, &[&types.0, &types.1]).at(loc))
}

#[track_caller]
fn spread(n_axes: usize, x: &Var, weight: &Var, options: &ConvTransposeOptions) -> Result<Var> {
    let before = options.padding.of(n_axes)?.to_vec();
    let mut geometry = Geometry {
        stride: options.stride.of(n_axes)?.to_vec(),
        after: before.clone(),
        before,
        dilation: options.dilation.of(n_axes)?.to_vec(),
        groups: options.groups,
    };
    geometry.judge(&[("input", &x.ty()), ("weight", &weight.ty())])?;
    let longer = options.output_padding.of(n_axes)?;
    let (inputs, kernel) = (&x.dims()[2..], &weight.dims()[2..]);
    let (mut sizes, mut zeros) = (Vec::new(), Vec::new());
    for i in 0..n_axes {
        let (stride, dilation) = (geometry.stride[i], geometry.dilation[i]);
        if longer[i] > 0 && longer[i] >= stride.max(dilation) {
            return Err(Error::argument(format!(
                "an output padding of {} with stride {stride} and dilation {dilation}",
                longer[i]
            ))
            .remedy("it must be smaller than the stride or the dilation"));
        }
        // Of what goes beyond a step of the stride, the part that the padding would cut is left
        // uncut, and the rest is zeros that no window reaches.
        let within = longer[i].min(stride - 1);
        let uncut = (longer[i] - within).min(geometry.after[i]);
        geometry.after[i] -= uncut;
        zeros.push(longer[i] - within - uncut);
        let steps = inputs[i].sub(Dim::size(1))?.mul(Dim::size(stride))?;
        let reach = kernel[i].sub(Dim::size(1))?.mul(Dim::size(dilation))?;
        let whole = steps.add(reach)?.add(Dim::size(1 + within))?;
        let cut = geometry.before[i].saturating_add(geometry.after[i]);
        let size = whole.sub(Dim::size(cut)).map_err(|_| {
            Error::shape(format!(
                "of {whole} elements of spatial axis {i}, {cut} are cut by padding"
            ))
            .remedy("use less padding")
        })?;
        sizes.push(size);
    }
    let mut y = bind1(ConvTranspose::new(geometry, sizes), &[x, weight])?;
    for (i, &count) in zeros.iter().enumerate().filter(|(_, count)| **count > 0) {
        let size = y.dims()[i + 2].add(Dim::size(count))?;
        y = scatter_slice(&y, i as i64 + 2, size, Dim::size(0), 1)?;
    }
    Ok(y)
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "conv_transpose", text: include_str!("conv_transpose.c"), needs: &[&COLUMNS] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("conv_transpose.wgsl"),
    args: &["x", "weight", "y", "columns", "numbers", "batch", "groups", "ins", "outs"],
    count: |n| {
        let plane: i64 = n[4].ints().iter().take(3).product();
        [5, 6, 8].iter().fold(plane, |all, &i| all.saturating_mul(n[i].int()))
    },
};

attributes! {
    /// The adjoint of [`Conv`] as a function of its input; also the op behind [`conv_transpose1d`],
    /// [`conv_transpose2d`] and [`conv_transpose3d`].
    pub struct ConvTranspose = "conv_transpose" {
        /// The distance between windows, per spatial axis.
        pub stride: Vec<usize>,
        /// Zeros in front of each axis of the convolution.
        pub before: Vec<usize>,
        /// Zeros behind each axis of the convolution.
        pub after: Vec<usize>,
        /// The distance between the elements of a kernel.
        pub dilation: Vec<usize>,
        /// The number of groups of channels.
        pub groups: usize,
        /// The spatial sizes of the result.
        pub sizes: Vec<Dim>,
    }
}

impl ConvTranspose {
    pub(super) fn new(geometry: Geometry, sizes: Vec<Dim>) -> ConvTranspose {
        let Geometry { stride, before, after, dilation, groups } = geometry;
        ConvTranspose { stride, before, after, dilation, groups, sizes }
    }

    fn geometry(&self) -> Geometry {
        let ConvTranspose { stride, before, after, dilation, groups, .. } = self.clone();
        Geometry { stride, before, after, dilation, groups }
    }
}

impl Op for ConvTranspose {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (geometry, x, weight) = (self.geometry(), inputs[0], inputs[1]);
        let dtype = geometry.judge(&[("input", x), ("weight", weight)])?;
        geometry.divides("input", x.dim(1))?;
        same_channels(x.dim(1), weight.dim(0), &format!("{weight} is [in, out / groups, ..]"))?;
        if self.sizes.len() != geometry.n_axes() {
            return Err(Error::argument("there are not as many sizes as strides"));
        }
        let counts = geometry.counts(&self.sizes, &weight.dims()[2..])?;
        if x.dims()[2..] != counts[..] {
            let (found, sizes) = (&x.dims()[2..], &self.sizes);
            return Err(Error::shape(format!(
                "the spatial sizes {found:?} are not those of a convolution of {sizes:?}, which \
                 are {counts:?}"
            )));
        }
        let channels = weight.dim(1).mul(Dim::size(self.groups))?;
        Ok(smallvec![Type::new(dtype, &with_spatial(x.dim(0), channels, &self.sizes))?])
    }

    fn arithmetic(&self, inputs: &[&Type], _: &[Type]) -> Option<f64> {
        let of_each: usize =
            inputs[1].dims()[1..].iter().try_fold(1, |n, d| Some(n * d.value()?))?;
        Some(2.0 * of_each as f64 * inputs[0].numel()? as f64)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (x, weight) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let geometry = self.geometry();
        let windows = geometry.windows(&weight.dims()[2..]);
        let sizes = known_sizes(&outs[0])?;
        let dtype = outs[0].dtype();
        let y = kernels::conv_transpose(x, weight, &windows, self.groups, &sizes[2..], dtype)?;
        Ok(smallvec![y.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if !batch.is_batched(1) {
            return folded_in_first(batch, |x, w| bind1(self.clone(), &[x, w]));
        }
        in_groups(batch, self.groups, |groups| ConvTranspose { groups, ..self.clone() }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OTHERS, |p| {
            let geometry = p.op::<ConvTranspose>()?.geometry();
            let of_x = || bind1(Conv::new(geometry.clone()), &[&p.dy(), &p.x(1)]);
            let of_weight = || {
                let kernel = p.in_type(1)?.dims()[2..].to_vec();
                bind1(ConvWeightGrad::new(geometry.clone(), kernel), &[&p.dy(), &p.x(0)])
            };
            grads![p => of_x(), of_weight()]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (x, weight, dtype) = (inputs[0], inputs[1], outs[0].dtype());
        let sizes = [x.dim(0), x.dim(1), outs[0].dim(1), weight.dim(1)];
        let args = native_args(&self.geometry(), &self.sizes, &weight.dims()[2..], dtype, sizes)?;
        let operands = [Arg::As(0, dtype), Arg::As(1, dtype), Arg::Out(0)];
        let args = operands.into_iter().chain(args);
        Native::new(&SOURCE, [dtype], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ConvTranspose::NAME, ConvTranspose::build, || {
    let of = |stride: &[usize], padding: &[usize], groups, sizes: &[usize]| ConvTranspose {
        stride: stride.to_vec(),
        before: padding.to_vec(),
        after: padding.to_vec(),
        dilation: vec![1; stride.len()],
        groups,
        sizes: dims_of(sizes),
    };
    let x = f64s(&[1.0, 2.0], &[1, 1, 2]);
    let weight = f64s(&[1.0, 10.0, 100.0], &[1, 1, 3]);
    vec![
        Sample::new(of(&[1], &[0], 1, &[4]), [x.clone(), weight.clone()])
            .gives([f64s(&[1.0, 12.0, 120.0, 200.0], &[1, 1, 4])]),
        Sample::new(of(&[2], &[1], 1, &[4]), [x.clone(), weight.clone()])
            .gives([f64s(&[10.0, 102.0, 20.0, 200.0], &[1, 1, 4])]),
        Sample::new(of(&[2, 1], &[1, 0], 2, &[3, 4]), [ramp(&[2, 4, 2, 3]), ramp(&[4, 1, 2, 2])]),
        Sample::new(
            of(&[1, 2, 1], &[0, 0, 0], 1, &[2, 3, 3]),
            [ramp(&[1, 2, 2, 1, 2]), ramp(&[2, 1, 1, 2, 2])],
        ),
        Sample::new(of(&[1], &[0], 1, &[4]), [ramp(&[0, 1, 2]), weight.clone()])
            .gives([f64s(&[], &[0, 1, 4])]),
        Sample::new(of(&[1], &[0], 1, &[5]), [x.clone(), weight])
            .refused("not those of a convolution"),
        Sample::new(of(&[1], &[0], 1, &[4]), [x, ramp(&[2, 1, 3])])
            .refused("the input has 1 channels, but the weight takes 2"),
    ]
});
