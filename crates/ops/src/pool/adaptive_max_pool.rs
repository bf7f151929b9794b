//! `adaptive_max_pool`: the greatest elements of so many windows.

use super::geometry::has_axes;
use super::max_pool::{to_places, two};
use crate::prelude::*;

/// The greatest elements of so many windows on the last axis, as PyTorch's `adaptive_max_pool1d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0, 0.0], &[1, 1, 5])?;
/// assert_eq!(adaptive_max_pool1d(&x, 2usize.into())?.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_max_pool1d(x: &Var, sizes: PerAxis) -> Result<Var> {
    Ok(pooled("adaptive_max_pool1d", 1, x, &sizes)?.0)
}

/// The greatest elements of so many windows on each of the last two axes, as PyTorch's
/// `adaptive_max_pool2d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// assert_eq!(adaptive_max_pool2d(&x, [2, 1].into())?.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_max_pool2d(x: &Var, sizes: PerAxis) -> Result<Var> {
    Ok(pooled("adaptive_max_pool2d", 2, x, &sizes)?.0)
}

/// The greatest elements of so many windows on each of the last three axes, as PyTorch's
/// `adaptive_max_pool3d`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 3.0, 2.0, 4.0], &[1, 1, 2, 2])?;
/// assert_eq!(adaptive_max_pool3d(&x, 1usize.into())?.to_vec::<f64>()?, [4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn adaptive_max_pool3d(x: &Var, sizes: PerAxis) -> Result<Var> {
    Ok(pooled("adaptive_max_pool3d", 3, x, &sizes)?.0)
}

#[track_caller]
fn pooled(name: &str, n_axes: usize, x: &Var, sizes: &PerAxis) -> Result<(Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let sizes = sizes.of(n_axes).map_err(|error| error.in_op(name, &[&ty]).at(loc))?.to_vec();
    two(bind(AdaptiveMaxPool { sizes }, &[x])?)
}

static SOURCE: Source =
    Source { name: "adaptive_max_pool", text: include_str!("adaptive_max_pool.c"), needs: &[] };

attributes! {
    /// The op behind [`adaptive_max_pool2d`] and its like. Its outputs are the greatest elements and
    /// their positions, counted over the pooled axes.
    pub struct AdaptiveMaxPool = "adaptive_max_pool" {
        /// The number of windows, per pooled axis.
        pub sizes: Vec<usize>,
    }
}

impl Op for AdaptiveMaxPool {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, n_axes) = (inputs[0], self.sizes.len());
        if !(1..=3).contains(&n_axes) {
            return Err(Error::argument(format!("{n_axes} axes are pooled, expected 1 to 3")));
        }
        has_axes(x, n_axes)?;
        let leading = x.rank() - n_axes;
        if x.dims()[leading..].contains(&Dim::size(0)) {
            return Err(Error::shape(format!("there is no greatest of no elements in {x}")));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(x.dims());
        dims[leading..].copy_from_slice(&dims_of(&self.sizes));
        let values = x.with_dims(&dims)?;
        Ok(smallvec![values, values.with_dtype(DType::I64)])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        // A size beyond all memory is refused before its windows are made.
        Tensor::empty(DType::I64, &known_sizes(&outs[0])?)?;
        let olds = &x.dims()[x.rank() - self.sizes.len()..];
        let windows: Vec<Vec<kernels::Window>> = olds
            .iter()
            .zip(&self.sizes)
            .map(|(&old, &new)| windows(old, new))
            .collect::<Result<_>>()?;
        let (values, places) = kernels::max_pool(x, &windows)?;
        Ok(smallvec![values.into(), places.into()])
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        let (dims, rank) = (inputs[0].dims(), inputs[0].rank());
        Some((1, count_of(&dims[rank - self.sizes.len()..])?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING.and_outputs(0b10), |p| {
            to_places(p, p.op::<AdaptiveMaxPool>()?.sizes.len())
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let n_axes = self.sizes.len();
        let (planes, _) = inputs[0].dims().split_at(inputs[0].rank() - n_axes);
        // Axes that are not there have one element.
        let three = |ty: &Type| {
            let own = ty.dims()[ty.rank() - n_axes..].iter().copied();
            std::iter::repeat_n(Dim::size(1), 3 - n_axes).chain(own).collect::<Vec<Dim>>()
        };
        let sizes = three(inputs[0]).into_iter().chain(three(&outs[0])).collect();
        let (planes, sizes) = (Arg::Size(kernel::count(planes)?), Arg::Sizes(sizes));
        let args = [Arg::In(0), Arg::Out(0), Arg::Out(1), planes, sizes];
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// So many windows of nearly the same size that cover an axis.
fn windows(old: usize, new: usize) -> Result<Vec<kernels::Window>> {
    let place = |i: usize| i as u128 * old as u128;
    let window = |i: usize| {
        let (start, end) = (place(i) / new as u128, place(i + 1).div_ceil(new as u128));
        kernels::Window { start: start as usize, len: (end - start) as usize, step: 1, divisor: 1 }
    };
    memory::collected((0..new).map(window))
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AdaptiveMaxPool::NAME, AdaptiveMaxPool::build, || {
    let of = |sizes: &[usize]| AdaptiveMaxPool { sizes: sizes.to_vec() };
    let line = f64s(&[1.0, 5.0, 2.0, 4.0, 3.0], &[1, 5]);
    vec![
        Sample::new(of(&[3]), [line.clone()])
            .gives([f64s(&[5.0, 5.0, 4.0], &[1, 3]), i64s(&[1, 1, 3], &[1, 3])]),
        Sample::new(of(&[7]), [f64s(&[1.0, 2.0], &[1, 2])]).gives([
            f64s(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], &[1, 7]),
            i64s(&[0, 0, 0, 1, 1, 1, 1], &[1, 7]),
        ]),
        Sample::new(of(&[2, 3]), [ramp(&[2, 1, 3, 4])]),
        Sample::new(of(&[2, 1, 1]), [ramp(&[2, 3, 2, 2])]),
        Sample::new(of(&[2]), [f64s(&[], &[1, 0])]).refused("no elements"),
        Sample::new(of(&[2, 2]), [line]).refused("expected numbers with channels"),
    ]
});
