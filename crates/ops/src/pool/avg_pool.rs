//! `avg_pool`: the mean of each window.

use super::avg_pool_grad::AvgPoolGrad;
use super::geometry::{Geometry, POOL, is_float, native_args};
use crate::prelude::*;

options! {
    /// How windows lie in [`avg_pool1d`], [`avg_pool2d`] and [`avg_pool3d`].
    pub struct AvgPoolOptions {
        /// The distance between windows; if empty, that of the kernel.
        pub stride: PerAxis = PerAxis::default(),
        /// Zeros on both sides of each axis.
        pub padding: PerAxis = 0.into(),
        /// Whether a last window that is cut off counts, if it starts in the input or the padding
        /// in front.
        pub ceil_mode: bool = false,
        /// Whether the zeros of the padding count as elements of the mean.
        pub count_include_pad: bool = true,
        /// What sums are divided by, instead of the number of elements.
        pub divisor: Option<usize> = None,
    }
}

/// The mean of each window on the last axis, as PyTorch's `avg_pool1d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 4])?;
/// let y = avg_pool1d(&x, 2usize.into(), AvgPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn avg_pool1d(x: &Var, kernel: PerAxis, options: AvgPoolOptions) -> Result<Var> {
    pooled("avg_pool1d", 1, x, &kernel, &options)
}

/// The mean of each window on the last two axes, as PyTorch's `avg_pool2d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// let y = avg_pool2d(&x, 2usize.into(), AvgPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn avg_pool2d(x: &Var, kernel: PerAxis, options: AvgPoolOptions) -> Result<Var> {
    pooled("avg_pool2d", 2, x, &kernel, &options)
}

/// The mean of each window on the last three axes, as PyTorch's `avg_pool3d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 1, 2, 2])?;
/// let y = avg_pool3d(&x, [1, 2, 2].into(), AvgPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn avg_pool3d(x: &Var, kernel: PerAxis, options: AvgPoolOptions) -> Result<Var> {
    pooled("avg_pool3d", 3, x, &kernel, &options)
}

#[track_caller]
fn pooled(
    name: &str,
    n_axes: usize,
    x: &Var,
    kernel: &PerAxis,
    options: &AvgPoolOptions,
) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let AvgPoolOptions { stride, padding, ceil_mode, count_include_pad, divisor } = options;
    let geometry = Geometry::of(n_axes, kernel, stride, padding, &1.into(), *ceil_mode)
        .map_err(|error| error.in_op(name, &[&ty]).at(loc))?;
    let Geometry { kernel, stride, padding, ceil_mode, .. } = geometry;
    let (count_include_pad, divisor) = (*count_include_pad, *divisor);
    bind1(AvgPool { kernel, stride, padding, ceil_mode, count_include_pad, divisor }, &[x])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "avg_pool", text: include_str!("avg_pool.c"), needs: &[&POOL] };

impl AvgPool {
    /// What sums are divided by, for the function in C.
    pub(super) fn native_divisor(&self) -> [Arg; 2] {
        [Arg::Int(self.count_include_pad.into()), Arg::Int(self.divisor.map_or(0, |n| n as i64))]
    }
}

attributes! {
    /// The op behind [`avg_pool2d`] and its like.
    pub struct AvgPool = "avg_pool" {
        /// The elements of a window, per pooled axis.
        pub kernel: Vec<usize>,
        /// The distance between windows.
        pub stride: Vec<usize>,
        /// Zeros on both sides of each axis.
        pub padding: Vec<usize>,
        /// Whether a last window that is cut off counts.
        pub ceil_mode: bool,
        /// Whether the zeros of the padding count as elements of the mean.
        pub count_include_pad: bool,
        /// What sums are divided by, instead of the number of elements.
        pub divisor: Option<usize>,
    }
}

impl AvgPool {
    pub(super) fn geometry(&self) -> Geometry {
        let AvgPool { kernel, stride, padding, ceil_mode, .. } = self.clone();
        let dilation = vec![1; kernel.len()];
        Geometry { kernel, stride, padding, dilation, ceil_mode }
    }

    /// The dims of the means of a value of this type.
    pub(super) fn dims(&self, x: &Type) -> Result<SmallVec<[Dim; 8]>> {
        is_float(x)?;
        if self.divisor == Some(0) {
            return Err(Error::argument("the divisor is 0"));
        }
        self.geometry().dims(x)
    }

    /// The windows on a tensor of these dims.
    pub(super) fn windows(&self, dims: &[usize]) -> Result<Vec<Vec<kernels::Window>>> {
        let mut windows = self.geometry().windows(dims, self.count_include_pad)?;
        if let Some(divisor) = self.divisor {
            for (axis, windows) in windows.iter_mut().enumerate() {
                let divisor = if axis == 0 { divisor } else { 1 };
                windows.iter_mut().for_each(|window| window.divisor = divisor);
            }
        }
        Ok(windows)
    }
}

impl Op for AvgPool {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![inputs[0].with_dims(&self.dims(inputs[0])?)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![kernels::avg_pool(x, &self.windows(x.dims())?)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let (op, x) = (p.op::<AvgPool>()?.clone(), p.in_type(0)?);
            let sizes = x.dims()[x.rank() - op.kernel.len()..].to_vec();
            grads![p => bind1(AvgPoolGrad::new(op, sizes), &[&p.dy()])]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let args = native_args(&self.geometry(), inputs[0], &outs[0])?;
        let operands = [Arg::In(0), Arg::Out(0)];
        let args =
            operands.into_iter().chain(args).chain(self.native_divisor()).chain([Arg::Int(0)]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AvgPool::NAME, AvgPool::build, || {
    let of = |kernel: &[usize], stride: &[usize], padding: &[usize]| AvgPool {
        kernel: kernel.to_vec(),
        stride: stride.to_vec(),
        padding: padding.to_vec(),
        ceil_mode: false,
        count_include_pad: true,
        divisor: None,
    };
    let line = f64s(&[1.0, 5.0, 3.0, 4.0, 2.0], &[1, 5]);
    let inside = AvgPool { count_include_pad: false, ..of(&[2], &[2], &[1]) };
    let cut = AvgPool { ceil_mode: true, ..of(&[2], &[2], &[0]) };
    let by = AvgPool { divisor: Some(4), ..of(&[2], &[2], &[0]) };
    vec![
        Sample::new(of(&[2], &[2], &[0]), [line.clone()]).gives([f64s(&[3.0, 3.5], &[1, 2])]),
        Sample::new(of(&[2], &[2], &[1]), [line.clone()]).gives([f64s(&[0.5, 4.0, 3.0], &[1, 3])]),
        Sample::new(inside, [line.clone()]).gives([f64s(&[1.0, 4.0, 3.0], &[1, 3])]),
        Sample::new(cut, [line.clone()]).gives([f64s(&[3.0, 3.5, 2.0], &[1, 3])]),
        Sample::new(by, [line.clone()]).gives([f64s(&[1.5, 1.75], &[1, 2])]),
        Sample::new(of(&[2, 3], &[1, 2], &[1, 1]), [ramp(&[2, 2, 3, 4])]),
        Sample::new(of(&[2, 1, 2], &[1, 1, 1], &[1, 0, 0]), [ramp(&[2, 2, 2, 3])]),
        Sample::new(of(&[6], &[1], &[0]), [line.clone()]).refused("spatial axis 0 has 5"),
        Sample::new(of(&[2], &[2], &[0]), [i64s(&[1, 2], &[1, 2])]).refused("expected floats"),
        Sample::new(AvgPool { divisor: Some(0), ..of(&[2], &[2], &[0]) }, [line])
            .refused("the divisor is 0"),
    ]
});
