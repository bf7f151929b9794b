//! `max_pool`: the greatest element of each window.

use super::geometry::{Geometry, POOL, native_args};
use super::max_unpool::MaxUnpool;
use crate::prelude::*;

options! {
    /// How windows lie in [`max_pool1d`], [`max_pool2d`] and [`max_pool3d`].
    pub struct MaxPoolOptions {
        /// The distance between windows; if empty, that of the kernel.
        pub stride: PerAxis = PerAxis::default(),
        /// Elements less than all others on both sides of each axis.
        pub padding: PerAxis = 0.into(),
        /// The distance between the elements of a window.
        pub dilation: PerAxis = 1.into(),
        /// Whether a last window that is cut off counts, if it starts in the input or the padding
        /// in front.
        pub ceil_mode: bool = false,
    }
}

/// The greatest element of each window on the last axis, as PyTorch's `max_pool1d`. NaN if there is
/// one; of equal ones the first gets the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 4])?;
/// let y = max_pool1d(&x, 2usize.into(), MaxPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool1d(x: &Var, kernel: PerAxis, options: MaxPoolOptions) -> Result<Var> {
    Ok(pooled("max_pool1d", 1, x, &kernel, &options)?.0)
}

/// The greatest element of each window on the last two axes, as PyTorch's `max_pool2d`. NaN if there
/// is one; of equal ones the first gets the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// let y = max_pool2d(&x, 2usize.into(), MaxPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool2d(x: &Var, kernel: PerAxis, options: MaxPoolOptions) -> Result<Var> {
    Ok(pooled("max_pool2d", 2, x, &kernel, &options)?.0)
}

/// The greatest element of each window on the last three axes, as PyTorch's `max_pool3d`. NaN if
/// there is one; of equal ones the first gets the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 1, 2, 2])?;
/// let y = max_pool3d(&x, [1, 2, 2].into(), MaxPoolOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool3d(x: &Var, kernel: PerAxis, options: MaxPoolOptions) -> Result<Var> {
    Ok(pooled("max_pool3d", 3, x, &kernel, &options)?.0)
}

/// [`max_pool1d`] with the position of each greatest element on the last axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 4])?;
/// let (_, places) = max_pool1d_with_indices(&x, 2usize.into(), MaxPoolOptions::default())?;
/// assert_eq!(places.to_vec::<i64>()?, [1, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool1d_with_indices(
    x: &Var,
    kernel: PerAxis,
    options: MaxPoolOptions,
) -> Result<(Var, Var)> {
    pooled("max_pool1d_with_indices", 1, x, &kernel, &options)
}

/// [`max_pool2d`] with the position of each greatest element, counted over the last two axes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 5.0, 4.0], &[1, 1, 2, 2])?;
/// let (_, places) = max_pool2d_with_indices(&x, 2usize.into(), MaxPoolOptions::default())?;
/// assert_eq!(places.to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool2d_with_indices(
    x: &Var,
    kernel: PerAxis,
    options: MaxPoolOptions,
) -> Result<(Var, Var)> {
    pooled("max_pool2d_with_indices", 2, x, &kernel, &options)
}

/// [`max_pool3d`] with the position of each greatest element, counted over the last three axes.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 5.0, 4.0], &[1, 1, 2, 2])?;
/// let (_, places) = max_pool3d_with_indices(&x, [1, 2, 2].into(), MaxPoolOptions::default())?;
/// assert_eq!(places.to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool3d_with_indices(
    x: &Var,
    kernel: PerAxis,
    options: MaxPoolOptions,
) -> Result<(Var, Var)> {
    pooled("max_pool3d_with_indices", 3, x, &kernel, &options)
}

#[track_caller]
fn pooled(
    name: &str,
    n_axes: usize,
    x: &Var,
    kernel: &PerAxis,
    options: &MaxPoolOptions,
) -> Result<(Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let MaxPoolOptions { stride, padding, dilation, ceil_mode } = options;
    let geometry = Geometry::of(n_axes, kernel, stride, padding, dilation, *ceil_mode)
        .map_err(|error| error.in_op(name, &[&ty]).at(loc))?;
    let Geometry { kernel, stride, padding, dilation, ceil_mode } = geometry;
    two(bind(MaxPool { kernel, stride, padding, dilation, ceil_mode }, &[x])?)
}

/// The only two outputs of an op.
pub(super) fn two(outputs: Outputs) -> Result<(Var, Var)> {
    let [values, places] = &outputs[..] else {
        return Err(Error::internal("a max pool has values and positions"));
    };
    Ok((values.clone(), places.clone()))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "max_pool", text: include_str!("max_pool.c"), needs: &[&POOL] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("max_pool.wgsl"),
    args: &["x", "y", "places", "planes", "n"],
    count: |n| {
        n[4].ints().iter().skip(6).take(3).fold(n[3].int(), |all, &size| all.saturating_mul(size))
    },
};

attributes! {
    /// The op behind [`max_pool2d`] and its like. Its outputs are the greatest elements and their
    /// positions, counted over the pooled axes.
    pub struct MaxPool = "max_pool" {
        /// The elements of a window, per pooled axis.
        pub kernel: Vec<usize>,
        /// The distance between windows.
        pub stride: Vec<usize>,
        /// Elements less than all others on both sides of each axis.
        pub padding: Vec<usize>,
        /// The distance between the elements of a window.
        pub dilation: Vec<usize>,
        /// Whether a last window that is cut off counts.
        pub ceil_mode: bool,
    }
}

impl MaxPool {
    fn geometry(&self) -> Geometry {
        let MaxPool { kernel, stride, padding, dilation, ceil_mode } = self.clone();
        Geometry { kernel, stride, padding, dilation, ceil_mode }
    }
}

impl Op for MaxPool {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let values = inputs[0].with_dims(&self.geometry().dims(inputs[0])?)?;
        Ok(smallvec![values, values.with_dtype(DType::I64)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let windows = self.geometry().windows(x.dims(), true)?;
        let (values, places) = kernels::max_pool(x, &windows)?;
        Ok(smallvec![values.into(), places.into()])
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        let (dims, rank) = (inputs[0].dims(), inputs[0].rank());
        Some((1, count_of(&dims[rank - self.kernel.len()..])?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING.and_outputs(0b10), |p| {
            to_places(p, p.op::<MaxPool>()?.kernel.len())
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let args = native_args(&self.geometry(), inputs[0], &outs[0])?;
        let operands = [Arg::In(0), Arg::Out(0), Arg::Out(1)];
        let args = operands.into_iter().chain(args);
        Native::new(&SOURCE, [inputs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// The cotangent of what was pooled: each element goes back to where it came from.
pub(super) fn to_places(p: &Pull<'_>, n_axes: usize) -> Result<Cotangents> {
    let x = p.in_type(0)?;
    let sizes = x.dims()[x.rank() - n_axes..].to_vec();
    grads![p => bind1(MaxUnpool { sizes }, &[&p.dy(), &p.y(1)])]
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MaxPool::NAME, MaxPool::build, || {
    let of = |kernel: &[usize], stride: &[usize], padding: &[usize], ceil_mode| MaxPool {
        kernel: kernel.to_vec(),
        stride: stride.to_vec(),
        padding: padding.to_vec(),
        dilation: vec![1; kernel.len()],
        ceil_mode,
    };
    let line = f64s(&[1.0, 5.0, 2.0, 4.0, 3.0], &[1, 5]);
    let wide = MaxPool { dilation: vec![2], ..of(&[2], &[1], &[1], false) };
    vec![
        Sample::new(of(&[2], &[2], &[0], false), [line.clone()])
            .gives([f64s(&[5.0, 4.0], &[1, 2]), i64s(&[1, 3], &[1, 2])]),
        Sample::new(of(&[2], &[2], &[0], true), [line.clone()])
            .gives([f64s(&[5.0, 4.0, 3.0], &[1, 3]), i64s(&[1, 3, 4], &[1, 3])]),
        Sample::new(of(&[3], &[2], &[1], false), [line.clone()])
            .gives([f64s(&[5.0, 5.0, 4.0], &[1, 3]), i64s(&[1, 1, 3], &[1, 3])]),
        Sample::new(wide, [line.clone()])
            .gives([f64s(&[5.0, 2.0, 5.0, 3.0, 4.0], &[1, 5]), i64s(&[1, 2, 1, 4, 3], &[1, 5])]),
        Sample::new(of(&[2, 2], &[1, 2], &[0, 1], false), [ramp(&[2, 2, 3, 4])]),
        Sample::new(of(&[2, 1, 2], &[1, 1, 2], &[1, 0, 0], true), [ramp(&[2, 2, 2, 3])]),
        Sample::new(of(&[2], &[2], &[0], false), [i64s(&[3, 1, 2, 5], &[1, 4])])
            .gives([i64s(&[3, 5], &[1, 2]), i64s(&[0, 3], &[1, 2])]),
        Sample::new(of(&[6], &[1], &[0], false), [line.clone()]).refused(
            "a kernel of 6 with dilation 1 reaches over 6 elements, but spatial axis 0 has 5",
        ),
        Sample::new(of(&[2], &[1], &[2], false), [line.clone()]).refused("more than half"),
        Sample::new(of(&[0], &[1], &[0], false), [line.clone()]).refused("at least 1"),
        Sample::new(of(&[2, 2], &[1, 1], &[0, 0], false), [line])
            .refused("expected numbers with channels and 2 spatial axes"),
    ]
});
