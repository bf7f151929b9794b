//! `logsumexp`: the logarithm of the sum of exponentials over axes.

use super::family::{Reduction, number, over_axes, samples};
use crate::binary::{eq, where_};
use crate::prelude::*;
use crate::unary::{exp, isfinite, log};
use crate::{max, reshape, sum};

/// `log(sum(exp(x)))` over some axes, without overflow; over all, if none are named. For no elements,
/// or if all are -inf, it is -inf, with a gradient of zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1000.0, 1000.0], &[2])?;
/// assert_eq!(logsumexp(&x, &[], false)?.item::<f64>()?, 1000.0 + 2f64.ln());
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logsumexp(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    match x.dtype().is_complex() {
        true => complex_logsumexp(x, axes, keepdims),
        false => bind1(Logsumexp { axes: axes.to_vec(), keepdims }, &[x]),
    }
}

/// The same of complex numbers, whose real parts are brought to at most zero before.
#[track_caller]
fn complex_logsumexp(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let reduction = Reduction::new(axes, keepdims, &ty)
        .map_err(|error| error.in_op("logsumexp", &[&ty]).at(loc))?;
    let is_empty = reduction.axes.iter().any(|&axis| ty.dim(axis) == Dim::size(0));
    let level = match is_empty {
        true => real(&sum(x, axes, true)?)?,
        false => stop_gradient(&max(&real(x)?, axes, true)?)?,
    };
    let level = where_(&isfinite(&level)?, &level, &level.literal(0.0))?;
    let total = sum(&exp(&sub(x, &level)?)?, axes, true)?;
    let logs = add(&log(&total)?, &level)?;
    match keepdims {
        true => Ok(logs),
        false => reshape(&logs, reduction.infer(ty.dtype())?[0].dims()),
    }
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "logsumexp", text: include_str!("logsumexp.c"), needs: &[] };

attributes! {
    /// The op behind [`logsumexp`].
    pub struct Logsumexp = "logsumexp" {
        /// The axes; none means all.
        pub axes: Vec<i64>,
        /// Whether the axes stay, with size one.
        pub keepdims: bool,
    }
}

/// The logarithms, with zero for -inf: subtracted from -inf, it leaves -inf.
#[track_caller]
pub(crate) fn finite_level(logs: &Var) -> Result<Var> {
    let dtype = logs.dtype();
    let lowest = eq(logs, &number(f64::NEG_INFINITY, dtype)?)?;
    where_(&lowest, &number(0.0, dtype)?, logs)
}

impl Op for Logsumexp {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dtype = inputs[0].dtype();
        let dtype = if dtype.is_float() { dtype } else { DType::F32 };
        Reduction::new(&self.axes, self.keepdims, inputs[0])?.infer(dtype)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let reduction = Reduction::new(&self.axes, self.keepdims, &x.ty())?;
        let found = kernels::logsumexp(x, &reduction.axes, outs[0].dtype())?;
        Ok(smallvec![found.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        over_axes(batch, &self.axes, self.keepdims, |axes, keepdims| {
            Logsumexp { axes, keepdims }.into()
        })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let op = p.op::<Logsumexp>()?;
            let x = p.x(0);
            let reduction = Reduction::new(&op.axes, op.keepdims, &x.ty())?;
            let level = reduction.with_axes_kept(&finite_level(&p.y(0))?)?;
            let dy = reduction.with_axes_kept(&p.dy())?;
            grads![p => dy * exp(&(x - level))?]
        })
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let axes = Reduction::new(&self.axes, self.keepdims, inputs[0])?.axes;
        // Axes side by side are one.
        if axes.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            return Ok(None);
        }
        let dims = inputs[0].dims();
        let (first, end) = match (axes.first(), axes.last()) {
            (Some(&first), Some(&last)) => (first, last + 1),
            _ => (dims.len(), dims.len()),
        };
        let sizes = [
            kernel::count(&dims[..first])?,
            kernel::count(&dims[first..end])?,
            kernel::count(&dims[end..])?,
        ];
        let dtype = outs[0].dtype();
        let args = [Arg::As(0, dtype), Arg::Out(0)].into_iter().chain(sizes.map(Arg::Size));
        Native::new(&SOURCE, [dtype], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Logsumexp::NAME, Logsumexp::build, || {
    let reference: fn(&[f64]) -> f64 = |row| row.iter().map(|x| x.exp()).sum::<f64>().ln();
    let mut all = samples(|axes, keepdims| Logsumexp { axes, keepdims }.into(), reference);
    let by = |axes: &[i64]| Logsumexp { axes: axes.to_vec(), keepdims: false };
    let infinite = f64::INFINITY;
    all.extend([
        Sample::new(by(&[0]), [ramp(&[0, 2])]).gives([f64s(&[-infinite; 2], &[2])]),
        Sample::new(by(&[]), [i64s(&[0], &[1])]).gives([Tensor::from_f64s(
            DType::F32,
            &[0.0],
            &[],
        )
        .expect("one element")]),
    ]);
    all
});
