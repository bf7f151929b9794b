//! `conv`: kernels that slide over one to three spatial axes.

use super::geometry::{
    COLUMNS, Geometry, add_bias, batched, native_args, same_channels, with_spatial,
};
use super::{ConvTranspose, ConvWeightGrad};
use crate::batch::{folded_in_first, in_groups};
use crate::complex::by_parts::bilinear;
use crate::prelude::*;

options! {
    /// How kernels move in [`conv1d`], [`conv2d`] and [`conv3d`].
    pub struct ConvOptions {
        /// The distance between windows.
        pub stride: PerAxis = 1.into(),
        /// Zeros on both sides of each axis.
        pub padding: PerAxis = 0.into(),
        /// Pads so that sizes stay as they are, instead of by `padding`; with a stride of 1 only.
        pub same: bool = false,
        /// The distance between the elements of a kernel.
        pub dilation: PerAxis = 1.into(),
        /// In how many groups channels are taken, each with kernels of its own.
        pub groups: usize = 1usize,
    }
}

/// Slides kernels over one spatial axis, as PyTorch's `conv1d`: `x` is `[batch, in, length]` (or
/// without the batch), `weight` is `[out, in / groups, kernel]`, `bias` is `[out]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 4])?;
/// let weight = Var::of(&[1.0, -1.0], &[1, 1, 2])?;
/// let y = conv1d(&x, &weight, None, ConvOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [-1.0, -1.0, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv1d(x: &Var, weight: &Var, bias: Option<&Var>, options: ConvOptions) -> Result<Var> {
    convolve("conv1d", 1, x, weight, bias, &options)
}

/// Slides kernels over two spatial axes, as PyTorch's `conv2d`: `x` is `[batch, in, height, width]`
/// (or without the batch), `weight` is `[out, in / groups, ..]`, `bias` is `[out]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// let weight = Var::of(&[1.0; 9], &[1, 1, 3, 3])?;
/// let y = conv2d(&x, &weight, None, ConvOptions::default().padding(1usize))?;
/// assert_eq!(y.to_vec::<f64>()?, [10.0; 4]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv2d(x: &Var, weight: &Var, bias: Option<&Var>, options: ConvOptions) -> Result<Var> {
    convolve("conv2d", 2, x, weight, bias, &options)
}

/// Slides kernels over three spatial axes, as PyTorch's `conv3d`: `x` is
/// `[batch, in, depth, height, width]` (or without the batch), `weight` is
/// `[out, in / groups, ..]`, `bias` is `[out]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0; 8], &[1, 1, 2, 2, 2])?;
/// let weight = Var::of(&[1.0; 8], &[1, 1, 2, 2, 2])?;
/// assert_eq!(conv3d(&x, &weight, None, ConvOptions::default())?.to_vec::<f64>()?, [8.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv3d(x: &Var, weight: &Var, bias: Option<&Var>, options: ConvOptions) -> Result<Var> {
    convolve("conv3d", 3, x, weight, bias, &options)
}

#[track_caller]
fn convolve(
    name: &str,
    n_axes: usize,
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    options: &ConvOptions,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::low();
    let (x, weight) = (&precision.of(x)?, &precision.of(weight)?);
    let bias = precision.maybe(bias)?;
    let bias = bias.as_ref();
    let types = (x.clone().check()?.ty(), weight.clone().check()?.ty());
    let convolved = || {
        let op = planned(n_axes, &types.1, options)?;
        let y = batched(x, n_axes, |x| {
            bilinear(x, weight, |x, weight| bind1(op.clone(), &[x, weight]))
        })?;
        add_bias(&y, bias, n_axes)
    };
    convolved().map_err(|error| error.in_op(name, &[&types.0, &types.1]).at(loc))
}

/// The op for these options and a weight of this type.
fn planned(n_axes: usize, weight: &Type, options: &ConvOptions) -> Result<Conv> {
    let stride = options.stride.of(n_axes)?.to_vec();
    let dilation = options.dilation.of(n_axes)?.to_vec();
    let (before, after) = match options.same {
        false => {
            let padding = options.padding.of(n_axes)?.to_vec();
            (padding.clone(), padding)
        }
        true => same_padding(n_axes, weight, &stride, &dilation)?,
    };
    Ok(Conv { stride, before, after, dilation, groups: options.groups })
}

/// The padding that keeps sizes as they are; an odd zero is behind the axis.
fn same_padding(
    n_axes: usize,
    weight: &Type,
    stride: &[usize],
    dilation: &[usize],
) -> Result<(Vec<usize>, Vec<usize>)> {
    if stride.iter().any(|&stride| stride != 1) {
        return Err(Error::argument(format!("`same` does not go with a stride of {stride:?}"))
            .remedy("use a stride of 1, or state the padding"));
    }
    if weight.is_list() || weight.rank() != n_axes + 2 {
        return Err(Error::shape(format!("the weight is {weight}, expected {} axes", n_axes + 2)));
    }
    let total = weight.dims()[2..].iter().zip(dilation).map(|(&kernel, &dilation)| {
        let kernel = kernel.value().ok_or_else(|| {
            Error::shape(format!("the kernel's size {kernel} is not known, as `same` needs"))
                .remedy("state the padding")
        })?;
        Ok(kernel.saturating_sub(1).saturating_mul(dilation))
    });
    let total = total.collect::<Result<Vec<usize>>>()?;
    let before: Vec<usize> = total.iter().map(|total| total / 2).collect();
    let after = total.iter().zip(&before).map(|(total, before)| total - before).collect();
    Ok((before, after))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "conv", text: include_str!("conv.c"), needs: &[&COLUMNS] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("conv.wgsl"),
    args: &["x", "weight", "y", "columns", "numbers", "batch", "groups", "ins", "outs"],
    count: |n| {
        let windows: i64 = n[4].ints().iter().skip(6).take(3).product();
        [5, 6, 8].iter().fold(windows, |all, &i| all.saturating_mul(n[i].int()))
    },
};

attributes! {
    /// The op behind [`conv1d`], [`conv2d`] and [`conv3d`]; without a bias.
    pub struct Conv = "conv" {
        /// The distance between windows, per spatial axis.
        pub stride: Vec<usize>,
        /// Zeros in front of each axis.
        pub before: Vec<usize>,
        /// Zeros behind each axis.
        pub after: Vec<usize>,
        /// The distance between the elements of a kernel.
        pub dilation: Vec<usize>,
        /// The number of groups of channels.
        pub groups: usize,
    }
}

impl Conv {
    pub(super) fn new(geometry: Geometry) -> Conv {
        let Geometry { stride, before, after, dilation, groups } = geometry;
        Conv { stride, before, after, dilation, groups }
    }

    fn geometry(&self) -> Geometry {
        let Conv { stride, before, after, dilation, groups } = self.clone();
        Geometry { stride, before, after, dilation, groups }
    }
}

impl Op for Conv {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (geometry, x, weight) = (self.geometry(), inputs[0], inputs[1]);
        let dtype = geometry.judge(&[("input", x), ("weight", weight)])?;
        geometry.divides("input", x.dim(1))?;
        geometry.divides("output", weight.dim(0))?;
        let expected = weight.dim(1).mul(Dim::size(self.groups))?;
        let meaning = format!("{} in each of {} groups", weight.dim(1), self.groups);
        same_channels(x.dim(1), expected, &meaning)?;
        let counts = geometry.counts(&x.dims()[2..], &weight.dims()[2..])?;
        let dims = with_spatial(x.dim(0), weight.dim(0), &counts);
        Ok(smallvec![Type::new(dtype, &dims)?])
    }

    fn arithmetic(&self, inputs: &[&Type], outs: &[Type]) -> Option<f64> {
        let of_each: usize =
            inputs[1].dims()[1..].iter().try_fold(1, |n, d| Some(n * d.value()?))?;
        Some(2.0 * of_each as f64 * outs[0].numel()? as f64)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (x, weight) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let geometry = self.geometry();
        let windows = geometry.windows(&weight.dims()[2..]);
        let y = kernels::conv(x, weight, &windows, self.groups, outs[0].dtype())?;
        Ok(smallvec![y.into()])
    }

    fn weight(&self, _: &[&Type]) -> Option<Weight> {
        Some(Weight { input: 1, axis: 0, channels: 1 })
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        if !batch.is_batched(1) {
            return folded_in_first(batch, |x, w| bind1(self.clone(), &[x, w]));
        }
        in_groups(batch, self.groups, |groups| Conv { groups, ..self.clone() }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OTHERS, |p| {
            let geometry = p.op::<Conv>()?.geometry();
            let of_x = || {
                let sizes = p.in_type(0)?.dims()[2..].to_vec();
                bind1(ConvTranspose::new(geometry.clone(), sizes), &[&p.dy(), &p.x(1)])
            };
            let of_weight = || {
                let kernel = p.in_type(1)?.dims()[2..].to_vec();
                bind1(ConvWeightGrad::new(geometry.clone(), kernel), &[&p.x(0), &p.dy()])
            };
            grads![p => of_x(), of_weight()]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (x, weight, dtype) = (inputs[0], inputs[1], outs[0].dtype());
        let sizes = [x.dim(0), x.dim(1), weight.dim(0), weight.dim(1)];
        let args =
            native_args(&self.geometry(), &x.dims()[2..], &weight.dims()[2..], dtype, sizes)?;
        let operands = [Arg::As(0, dtype), Arg::As(1, dtype), Arg::Out(0)];
        let args = operands.into_iter().chain(args);
        Native::new(&SOURCE, [dtype], args).with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Conv::NAME, Conv::build, || {
    let of = |stride: &[usize], before: &[usize], after: &[usize], groups| Conv {
        stride: stride.to_vec(),
        before: before.to_vec(),
        after: after.to_vec(),
        dilation: vec![1; stride.len()],
        groups,
    };
    let line = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1, 1, 5]);
    let pair = f64s(&[1.0, 10.0], &[1, 1, 2]);
    vec![
        Sample::new(of(&[2], &[0], &[0], 1), [line.clone(), pair.clone()])
            .gives([f64s(&[21.0, 43.0], &[1, 1, 2])]),
        Sample::new(of(&[1], &[1], &[0], 1), [line.clone(), pair.clone()])
            .gives([f64s(&[10.0, 21.0, 32.0, 43.0, 54.0], &[1, 1, 5])]),
        Sample::new(
            Conv { dilation: vec![3], ..of(&[1], &[0], &[1], 1) },
            [line.clone(), pair.clone()],
        )
        .gives([f64s(&[41.0, 52.0, 3.0], &[1, 1, 3])]),
        Sample::new(
            of(&[1], &[0], &[0], 2),
            [
                f64s(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]),
                f64s(&[1.0, 10.0, 100.0, 1000.0], &[2, 1, 2]),
            ],
        )
        .gives([f64s(&[21.0, 4300.0], &[1, 2, 1])]),
        Sample::new(of(&[2, 1], &[1, 1], &[1, 0], 1), [ramp(&[2, 2, 3, 3]), ramp(&[3, 2, 2, 2])]),
        Sample::new(
            of(&[1, 2, 1], &[0, 1, 0], &[1, 1, 0], 1),
            [ramp(&[1, 2, 2, 3, 2]), ramp(&[1, 2, 2, 2, 1])],
        ),
        Sample::new(of(&[1], &[0], &[0], 1), [ramp(&[0, 1, 5]), pair.clone()])
            .gives([f64s(&[], &[0, 1, 4])]),
        Sample::new(of(&[1], &[0], &[0], 1), [ramp(&[1, 1, 1]), pair.clone()]).refused(
            "a kernel of 2 with dilation 1 reaches over 2 elements, but spatial axis 0 has 1",
        ),
        Sample::new(of(&[1], &[0], &[0], 1), [ramp(&[1, 3, 5]), pair.clone()])
            .refused("the input has 3 channels, but the weight takes 1"),
        Sample::new(of(&[1], &[0], &[0], 2), [ramp(&[1, 3, 5]), ramp(&[2, 1, 2])])
            .refused("3 input channels are not divisible by 2 groups"),
        Sample::new(of(&[1], &[0], &[0], 2), [ramp(&[1, 2, 5]), ramp(&[3, 1, 2])])
            .refused("3 output channels are not divisible by 2 groups"),
        Sample::new(of(&[1, 1], &[0, 0], &[0, 0], 1), [line.clone(), pair.clone()])
            .refused("the input has 3 axes, expected 4"),
        Sample::new(of(&[0], &[0], &[0], 1), [line.clone(), pair]).refused("at least 1"),
        Sample::new(of(&[1], &[0], &[0], 1), [line, i64s(&[1], &[1, 1, 1])])
            .refused("expected floats"),
    ]
});
